# What -DREPRISE_REPLAY=OFF leaves out: all that runs kernels or transfers, with what that needs. Planning stays, because
# simulation and statistics plan as replay does. cli/program/commands.def marks the commands.
set(left_out_files
  "kernels/.*/.*"
  "kernels/(device_lowering|index_bounds|program_lowering|program_sources|shared_library|surrogate|tensor_access|views)"
  "collectives/bench/.*"
  "collectives/transport/(threaded|mpi.*)"
  "kernel_bench/.*"
  "replayer/(device_choice|engine/.*|memory/.*|recording|replay|sampling|session|shared_set|work_sums)"
  "cli/replay/.*")
# reprise_leave_out(LIST): without the sources that this build has no use for.
function(reprise_leave_out list)
  if(REPRISE_REPLAY)
    list(FILTER ${list} EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/cli/without_replay/.*$")
  else()
    list(JOIN left_out_files "|" pattern)
    list(FILTER ${list} EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/(${pattern})\\.cc$")
  endif()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
if(NOT REPRISE_REPLAY)
  # No backend and no kernel is registered.
  set(empty_registries ${CMAKE_BINARY_DIR}/without_replay)
  foreach(registry backends builtin)
    file(CONFIGURE OUTPUT ${empty_registries}/kernels/${registry}.def CONTENT "// Written by cmake/without_replay.cmake.\n")
  endforeach()
endif()
