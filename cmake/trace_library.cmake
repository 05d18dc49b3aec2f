# libreprise_trace: reading, writing, checking and converting traces, for programs of others and for the Python package
# (docs/library.md). One shared library of the folders that trace_library/ may use, so that who links it needs none of their libraries.
get_target_property(inside reprise_trace_library LINK_LIBRARIES)
list(FILTER inside INCLUDE REGEX "^reprise_")
list(APPEND inside reprise_trace_library)
set_target_properties(${inside} reprise_et_proto PROPERTIES POSITION_INDEPENDENT_CODE ON)
foreach(library IN LISTS inside)
  # Calls within a library stay direct and may be inlined, as without it.
  target_compile_options(${library} PRIVATE -fno-semantic-interposition)
endforeach()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor_version ${version})
set(exports ${CMAKE_SOURCE_DIR}/trace_library/exports.map)
add_library(reprise_trace SHARED)
foreach(library IN LISTS inside)
  target_sources(reprise_trace PRIVATE $<TARGET_OBJECTS:${library}>)
endforeach()
set_target_properties(reprise_trace PROPERTIES
  VERSION ${version} SOVERSION ${minor_version} EXPORT_NAME trace LINKER_LANGUAGE CXX LINK_DEPENDS ${exports})
# The objects are all there: of these libraries, only what they are linked to is added.
target_link_libraries(reprise_trace PRIVATE "$<BUILD_INTERFACE:${inside}>" INTERFACE tl::expected)
target_link_options(reprise_trace PRIVATE -Wl,--version-script=${exports} -Wl,--as-needed -Wl,--no-undefined)
target_compile_features(reprise_trace INTERFACE cxx_std_20)
add_dependencies(reprise reprise_trace)  # so that what `cmake --install` installs is there

include(GNUInstallDirs)
# Component `library`: libreprise-dev as a Debian package.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Reprise)
set(generated_library ${CMAKE_BINARY_DIR}/generated/trace_library)
install(TARGETS reprise_trace EXPORT Reprise LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT Reprise NAMESPACE Reprise:: FILE RepriseTargets.cmake DESTINATION ${package_folder} COMPONENT library)
file(WRITE ${generated_library}/RepriseConfig.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(tl-expected)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/RepriseTargets.cmake)\n")
write_basic_package_version_file(${generated_library}/RepriseConfigVersion.cmake VERSION ${version} COMPATIBILITY SameMinorVersion)
install(FILES ${generated_library}/RepriseConfig.cmake ${generated_library}/RepriseConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT library)
# The prefix from the place of the file itself, so that an installed tree may move.
file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
file(WRITE ${generated_library}/reprise-trace.pc "prefix=\${pcfiledir}/${to_prefix}
Name: reprise-trace
Description: reads, writes, checks and converts execution traces in MLCommons Chakra's format
Version: ${version}
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lreprise_trace
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
")
install(FILES ${generated_library}/reprise-trace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
set(public_headers ${CMAKE_BINARY_DIR}/public_headers)
install(CODE "
  execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${public_headers} -P ${CMAKE_SOURCE_DIR}/cmake/public_headers.cmake
                  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT library)
install(DIRECTORY ${public_headers}/reprise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libreprise-dev RENAME copyright COMPONENT library)
install(DIRECTORY examples/count_transfers DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT library)

# In the wheel by a name without version: wheels hold no links.
install(FILES $<TARGET_FILE:reprise_trace> DESTINATION lib/reprise RENAME libreprise_trace.so COMPONENT wheel EXCLUDE_FROM_ALL)
