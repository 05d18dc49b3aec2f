# Sources are compiled in batches, so that headers are parsed and templates are compiled once for many files. A name in an
# anonymous namespace must therefore be the folder's only one. 0: a folder is one batch. 1: each file alone, for quick rebuilds of
# one that changes often.
set(REPRISE_BATCH 0 CACHE STRING "source files compiled together")
# reprise_batches(TARGET): the sources of TARGET in batches. CMake keeps those with options of their own apart.
function(reprise_batches target)
  if(REPRISE_BATCH EQUAL 1)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${REPRISE_BATCH})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC takes the members of a batch for headers, in which an anonymous namespace would be a mistake. Below 1 GiB it need not
    # search for memory to reuse, which it else does every 128 MiB: 4 % of the time.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage --param=ggc-min-heapsize=1048576)
  endif()
endfunction()
# reprise_cold(TARGET OPTION): hot loops have options of their own (kernels/CMakeLists.txt); the rest is not worth the time of more
# optimisation. -O1: what reads, links, replays or simulates nodes by the million. -Og: what runs once a command, and a quarter
# quicker to build (measured: validate takes 1.5 times as long with -Og in et_schema, convert 1.3 times with it in converters).
function(reprise_cold target option)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE ${option})
  endif()
endfunction()
set(folders_run_once cli kernel_bench machine recordings report run workload)
# reprise_folder(NAME DEPS...): a static library reprise_NAME of NAME/**/*.cc that may see DEPS.
# NAME/CMakeLists.txt, where there is one, adds third-party libraries and generated sources.
function(reprise_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  reprise_leave_out(sources)
  if(NOT sources)
    add_library(reprise_${name} INTERFACE)
    return()
  endif()
  add_library(reprise_${name} STATIC ${sources})
  reprise_batches(reprise_${name})
  if(name IN_LIST folders_run_once)
    reprise_cold(reprise_${name} -Og)
  else()
    reprise_cold(reprise_${name} -O1)
  endif()
  target_include_directories(reprise_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  foreach(dep IN LISTS ARGN)
    target_link_libraries(reprise_${name} PUBLIC reprise_${dep})
  endforeach()
  target_link_libraries(reprise_${name} PUBLIC tl::expected fmt::fmt Threads::Threads)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${name}/CMakeLists.txt)
    add_subdirectory(${CMAKE_SOURCE_DIR}/${name})
  endif()
endfunction()
# reprise_embed(TARGET NAME HEADER FUNCTION FILES...): TARGET carries FILES as bytes, so that an installed program has them. HEADER
# declares FUNCTION, which returns them (cmake/embed.cmake).
function(reprise_embed target name header function)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} "-DFILES=${ARGN}" -DHEADER=${header} -DFUNCTION=${function}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  add_library(reprise_embedded_${name} STATIC ${source})
  target_include_directories(reprise_embedded_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE reprise_embedded_${name})
endfunction()
