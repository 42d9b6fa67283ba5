# `cpack` makes five Debian packages: tollbook, libtollbook1, libtollbook-print1 (PDFs: a server that
# prints none needs no fonts), libtollbook-dev, and tollbook-check, which customers install. The components are those of install.cmake; finish.cmake adds what Debian wants in each.
set(TB_MAINTAINER "tollbook maintainers <maintainers@tollbook.example>" CACHE STRING
  "Who the packages name as their maintainer")

set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME tollbook)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${TB_MAINTAINER})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_COMPONENTS_ALL server library print development check)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
# The unit names the executable's path, so it is installed under the prefix that it will have.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${TB_PACKAGING}/finish.cmake)
set(CPACK_TB_PACKAGING ${TB_PACKAGING})

set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME tollbook)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS libtollbook-print${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${TB_PACKAGING}/debian/postinst
  ${TB_PACKAGING}/debian/prerm ${TB_PACKAGING}/debian/postrm ${TB_PACKAGING}/debian/conffiles)
set(CPACK_COMPONENT_SERVER_DESCRIPTION
"statistics and billing for content delivery
Takes in request logs and usage counters of a content delivery network and
answers statistics and invoices, over HTTP and on the command line. Everything
is kept in one SQLite file.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtollbook${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${TB_PACKAGING}/debian/library/triggers
  ${TB_PACKAGING}/debian/library/postinst ${TB_PACKAGING}/debian/library/postrm)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"statistics and billing for content delivery, as a library
What tollbook does, for programs of your own: usage in, statistics, bills and
invoices out, over one SQLite file.")
set(CPACK_DEBIAN_PRINT_PACKAGE_NAME libtollbook-print${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_PRINT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PRINT_PACKAGE_RECOMMENDS "fonts-noto-core, fonts-noto-mono, fonts-noto-cjk")
set(CPACK_DEBIAN_PRINT_PACKAGE_CONTROL_EXTRA ${CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA})
set(CPACK_COMPONENT_PRINT_DESCRIPTION
"PDFs of tollbook's invoices
What tollbook and programs with libtollbook load when they print the first PDF.
Names of any script are shown in the fonts that are installed.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtollbook-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtollbook${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}-1), libsqlite3-dev, libjansson-dev, libsodium-dev, libxxhash-dev, libzstd-dev, libidn2-dev, libunistring-dev, libgsl-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"headers and examples of the tollbook library
What a program needs to be built with libtollbook: headers, a pkg-config file,
a CMake package, the static library, and examples in C and C++.")
set(CPACK_DEBIAN_CHECK_PACKAGE_NAME tollbook-check)
set(CPACK_DEBIAN_CHECK_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_CHECK_DESCRIPTION
"check a tollbook bill without trusting the one who wrote it
Opens the bundle of an invoice, verifies that its usage, terms and prices are
in the biller's signed log, and rates the month again. It asks nothing of the
network.")
include(CPack)
