# What `cmake --install` and `cpack` (a .deb, scripts/package) put where: docs/install.md. The component `common` is in the wheel, too.
include(GNUInstallDirs)
install(TARGETS reprise RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# From the option tables of the program that is installed.
set(generated ${CMAKE_BINARY_DIR}/generated)
install(CODE "
  file(MAKE_DIRECTORY ${generated})
  foreach(page IN ITEMS man:reprise.1 completion/bash:reprise completion/zsh:_reprise completion/fish:reprise.fish)
    string(REGEX MATCH \"^(.*):(.*)$\" unused \${page})
    set(file ${generated}/\${CMAKE_MATCH_2})
    string(REPLACE / \";\" arguments \${CMAKE_MATCH_1})
    execute_process(COMMAND $<TARGET_FILE:reprise> \${arguments} OUTPUT_FILE \${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND gzip -9nf ${generated}/reprise.1 COMMAND_ERROR_IS_FATAL ANY)
" COMPONENT common)
install(FILES ${generated}/reprise.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT common)
install(FILES ${generated}/reprise DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT common)
install(FILES ${generated}/_reprise DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT common)
install(FILES ${generated}/reprise.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT common)
install(FILES traces/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/reprise/captures COMPONENT common)
install(DIRECTORY traces/quickstart DESTINATION ${CMAKE_INSTALL_DATADIR}/reprise/captures COMPONENT common)

install(CODE "
  execute_process(COMMAND gzip -9n INPUT_FILE ${CMAKE_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${generated}/changelog.gz
                  COMMAND_ERROR_IS_FATAL ANY)")

install(FILES ${generated}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.png)
# Of libraries that are compiled in from headers or embedded; the others are packages of their own.
foreach(library IN ITEMS nlohmann-json3-dev libcli11-dev libexpected-dev opencl-clhpp-headers node-d3)
  install(FILES /usr/share/doc/${library}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences
          RENAME ${library}.txt OPTIONAL)
endforeach()
install(FILES scripts/slurm/reprise.sbatch DESTINATION ${CMAKE_INSTALL_DATADIR}/reprise/slurm)
install(FILES report/python/reprise_capture.py report/python/reprise_machine.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/reprise/python)

set(CPACK_PACKAGE_NAME reprise)
set(CPACK_PACKAGE_VERSION ${version})
set(CPACK_PACKAGE_CONTACT "The Reprise authors <reprise@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "replays execution traces of PyTorch training, and measures")
set(CPACK_PACKAGE_DESCRIPTION "Converts the execution traces of a PyTorch job to MLCommons Chakra's format and
replays them on any machine: real kernels through OpenCL, real collectives over MPI, in the order and with the
overlap of the original, while it records power, temperature and utilisation.")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Two packages: `reprise`, and `libreprise-dev` of the component `library` for those who link (cmake/trace_library.cmake).
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL Unspecified common library)
foreach(component IN ITEMS UNSPECIFIED COMMON)
  set(CPACK_COMPONENT_${component}_GROUP program)
endforeach()
set(CPACK_COMPONENT_LIBRARY_GROUP library)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME reprise)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libreprise-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS libexpected-dev)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "libreprise_trace with its headers: reads, writes, checks and converts execution traces, for programs that link it.")
if(REPRISE_REPLAY)
  # mpirun starts ranks, and a single rank needs its orted. oneDNN is opened at run time, so nothing finds it by
  # itself. OpenCL's loader is among the libraries; a machine with a GPU has a driver of its own for it.
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "openmpi-bin, ${dnnl_debian_package}")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "pocl-opencl-icd | opencl-icd")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libclblast1, libopenblas0, slurm-client")
endif()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
