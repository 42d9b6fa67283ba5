# What `cmake --install` puts where, in the components that become packages (package.cmake):
# server (the executable and what belongs to it), library (libtollbook.so.1), print
# (libtollbook-print.so.1, which draws PDFs), development, check (tollbook-check, for customers).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(TB_PACKAGING ${CMAKE_CURRENT_LIST_DIR})
set(TB_PACKAGED ${CMAKE_BINARY_DIR}/packaging) # what is made here of the templates

# --- the library ---

# GNUInstallDirs are relative to the prefix unless somebody says otherwise.
file(RELATIVE_PATH TB_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TB_PC_PREFIX "${TB_PC_PREFIX}")
configure_file(${TB_PACKAGING}/tollbook.pc.in ${TB_PACKAGED}/tollbook.pc @ONLY)
configure_package_config_file(${TB_PACKAGING}/tollbookConfig.cmake.in
  ${TB_PACKAGED}/tollbookConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tollbook
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${TB_PACKAGED}/tollbookConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)

# What is installed finds its libraries as the system does: the build's folder is no longer named.
function(tb_forget_build component installed)
  install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${installed}\")" COMPONENT ${component})
endfunction()

install(TARGETS tollbook_shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  NAMELINK_COMPONENT development)
tb_forget_build(library ${CMAKE_INSTALL_LIBDIR}/libtollbook.so.${PROJECT_VERSION})
# Found by its name, as all libraries are, or where this configuration installs it.
install(TARGETS tollbook_print
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT print NAMELINK_SKIP)
install(TARGETS tollbook_static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/tollbook DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN "*.h")
install(FILES ${TB_PACKAGED}/tollbook.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)
install(FILES ${TB_PACKAGED}/tollbookConfig.cmake ${TB_PACKAGED}/tollbookConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tollbook COMPONENT development)
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libtollbook-dev
  COMPONENT development)

# --- the checker ---

install(TARGETS tollbook-check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT check)
configure_file(${TB_PACKAGING}/tollbook-check.1.in ${TB_PACKAGED}/tollbook-check.1 @ONLY)
install(FILES ${TB_PACKAGED}/tollbook-check.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT check)

# --- the server ---

install(TARGETS tollbook RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
tb_forget_build(server ${CMAKE_INSTALL_BINDIR}/tollbook)
install(TARGETS tollbook_buckets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tollbook
  COMPONENT server)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tollbook COMPONENT server)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tollbook/docs COMPONENT server
  PATTERN examples EXCLUDE)

install(FILES ${TB_PACKAGING}/tollbook-backup.timer ${TB_PACKAGING}/tollbook-verify.timer
  DESTINATION lib/systemd/system COMPONENT server)

# Pacemaker looks for resource agents there: ocf:tollbook:server.
install(PROGRAMS ${TB_PACKAGING}/resource-agent DESTINATION lib/ocf/resource.d/tollbook RENAME server COMPONENT server)

# Only the installation knows the executable's whole path, which units name, and whether the package's /etc is meant.
install(CODE "
  set(BINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  set(AT @)
  string(REGEX REPLACE \"^/usr$\" \"\" root \"\${CMAKE_INSTALL_PREFIX}\")
  function(tb_install_file from to)
    message(STATUS \"Installing: \$ENV{DESTDIR}\${to}\")
    configure_file(\"${TB_PACKAGING}/\${from}\" \"\$ENV{DESTDIR}\${to}\" @ONLY)
  endfunction()
  foreach(name tollbook tollbook-follow tollbook-backup tollbook-verify)
    tb_install_file(\${name}.service.in \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/\${name}.service\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/\${name}.service\")
  endforeach()
  tb_install_file(logrotate \"\${root}/etc/logrotate.d/tollbook\")
  tb_install_file(tollbook.conf \"\${root}/etc/tollbook/tollbook.conf\")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${root}/etc/logrotate.d/tollbook\" \"\${root}/etc/tollbook/tollbook.conf\")
" COMPONENT server)

# Man pages and completions, out of the table of subcommands.
add_executable(tb_table ${TB_PACKAGING}/table.c)
target_link_libraries(tb_table PRIVATE tb_server)
add_custom_command(OUTPUT ${TB_PACKAGED}/table.json
  COMMAND tb_table > ${TB_PACKAGED}/table.json
  COMMAND Python3::Interpreter ${TB_PACKAGING}/reference.py ${TB_PACKAGED}/table.json
    ${TB_PACKAGED}/reference
  DEPENDS tb_table ${TB_PACKAGING}/reference.py VERBATIM)
add_custom_target(tb_reference ALL DEPENDS ${TB_PACKAGED}/table.json)
install(DIRECTORY ${TB_PACKAGED}/reference/man1 ${TB_PACKAGED}/reference/man5 DESTINATION ${CMAKE_INSTALL_MANDIR}
  COMPONENT server)
install(FILES ${TB_PACKAGED}/reference/bash/tollbook
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT server)
install(FILES ${TB_PACKAGED}/reference/zsh/_tollbook
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT server)
install(FILES ${TB_PACKAGED}/reference/fish/tollbook.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT server)
