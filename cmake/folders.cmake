# Sources are compiled in batches, so that headers are parsed and templates are compiled once for several files. A name in an
# anonymous namespace must therefore be its library's only one. 1: each file alone, for quick rebuilds of one that changes often.
set(REPRISE_BATCH 16 CACHE STRING "source files compiled together")
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
# reprise_target(VARIABLE FOLDER): the target of a folder's library, reprise_core_costs of core/costs.
function(reprise_target variable folder)
  string(REPLACE "/" "_" name ${folder})
  set(${variable} reprise_${name} PARENT_SCOPE)
endfunction()
# reprise_library(FOLDER USED...): a static library of FOLDER/**/*.cc, without the files of `folders` below it, that may see USED.
# FOLDER/CMakeLists.txt, where there is one, adds third-party libraries and generated sources to ${target}.
function(reprise_library folder)
  reprise_target(target ${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  foreach(other IN LISTS folders)
    if(other MATCHES "^${folder}/")
      list(FILTER sources EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/${other}/")
    endif()
  endforeach()
  add_library(${target} STATIC ${sources})
  reprise_batches(${target})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  foreach(used IN LISTS ARGN)
    reprise_target(library ${used})
    target_link_libraries(${target} PUBLIC ${library})
  endforeach()
  target_link_libraries(${target} PUBLIC tl::expected fmt::fmt Threads::Threads)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${CMAKE_SOURCE_DIR}/${folder})
  endif()
endfunction()
# reprise_libraries(PRODUCTS...): the libraries of cmake/layers.txt, without those for PRODUCTS.
function(reprise_libraries)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/layers.txt)
  file(STRINGS ${CMAKE_SOURCE_DIR}/cmake/layers.txt layers REGEX "^[a-z_/]+:")
  list(TRANSFORM layers REPLACE ":.*" "" OUTPUT_VARIABLE folders)
  foreach(layer IN LISTS layers)
    string(REGEX REPLACE ".*\\[(.*)\\]$" "\\1" product "${layer}")
    if(NOT product IN_LIST ARGN)
      string(REGEX REPLACE " *\\[.*" "" layer "${layer}")
      string(REGEX MATCHALL "[a-z_/]+" layer "${layer}")
      reprise_library(${layer})
    endif()
  endforeach()
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
