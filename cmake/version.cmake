set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS core/version.h)
file(STRINGS core/version.h version_line REGEX "kVersion = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${version_line}")
# What `reprise --version` tells: cli/program/version.cc alone is compiled anew when the commit changes.
set(commit_header ${CMAKE_BINARY_DIR}/generated/commit.h)
add_custom_target(reprise_commit BYPRODUCTS ${commit_header}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${commit_header} -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake
  COMMENT "" VERBATIM)
add_dependencies(reprise_cli reprise_commit)
set(libraries "protobuf ${Protobuf_VERSION}, SQLite ${SQLite3_VERSION}, simdjson ${simdjson_VERSION}")
string(APPEND libraries ", zstd ${zstd_VERSION}, zlib ${ZLIB_VERSION_STRING}")
set_source_files_properties(cli/program/version.cc PROPERTIES
  INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/generated OBJECT_DEPENDS ${commit_header}
  COMPILE_DEFINITIONS "REPRISE_LIBRARIES=\"${libraries}\";REPRISE_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\"")
if(REPRISE_REPLAY)
  set_source_files_properties(cli/replay/replay_parts.cc PROPERTIES
    COMPILE_DEFINITIONS "REPRISE_REPLAY_LIBRARIES=\", oneDNN ${dnnl_VERSION}, TBB ${TBB_VERSION}\"")
endif()
