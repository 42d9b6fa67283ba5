# Run by cpack over the staged trees: each gets its copyright and changelog, pages and changelogs
# are compressed, static libraries lose their debugging symbols.
set(MAINTAINER "${CPACK_PACKAGE_CONTACT}")
set(VERSION "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(PACKAGE ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  configure_file(${CPACK_TB_PACKAGING}/debian/changelog.in
    ${usr}/share/doc/${PACKAGE}/changelog.Debian @ONLY)
  file(COPY ${CPACK_TB_PACKAGING}/debian/copyright DESTINATION ${usr}/share/doc/${PACKAGE})
  file(GLOB_RECURSE compressed ${usr}/share/man/*.1 ${usr}/share/man/*.5 ${usr}/share/doc/${PACKAGE}/changelog.Debian)
  execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE archives ${usr}/*.a)
  if(archives)
    execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archives}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
# zsh of Debian looks for a package's completions in a folder of its own.
set(zsh ${CPACK_TEMPORARY_DIRECTORY}/server/usr/share/zsh)
file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
