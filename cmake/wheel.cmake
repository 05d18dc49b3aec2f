# The programs of the Python wheel (scripts/wheel): bin/reprise without replay's libraries, and lib/reprise/reprise-replay with all,
# which it starts where the machine has them (cli/without_replay). Their other libraries lie in lib/reprise.
function(reprise_wheel_program target name folder libraries)
  add_executable(${target} EXCLUDE_FROM_ALL cli/main.cc)
  target_link_libraries(${target} PRIVATE reprise_cli)
  # A run path of the old kind comes before LD_LIBRARY_PATH, which may name other versions of these libraries. What Open MPI's
  # compiler adds for C++ and nothing calls stays out: Open MPI 5 lacks it.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags -Wl,--as-needed)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/wheel_programs/${folder}
                        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH ${libraries})
  install(TARGETS ${target} RUNTIME DESTINATION ${folder} COMPONENT wheel EXCLUDE_FROM_ALL)
endfunction()
reprise_wheel_program(wheel_reprise reprise bin "$ORIGIN/../lib/reprise")
set_target_properties(wheel_reprise PROPERTIES REPRISE_WITHOUT_REPLAY ON)
reprise_wheel_program(wheel_reprise_replay reprise-replay lib/reprise "$ORIGIN")
add_custom_target(wheel_programs DEPENDS wheel_reprise wheel_reprise_replay reprise)
