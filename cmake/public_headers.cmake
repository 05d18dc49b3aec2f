# cmake -DSOURCE=DIR -DOUTPUT=DIR -P public_headers.cmake: writes the headers of trace_library/public_headers.txt below OUTPUT/reprise.
# They include each other as "reprise/core/result.h": a folder core/ of the program that uses them is then not in the way.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${SOURCE}/trace_library/public_headers.txt headers REGEX "^[^#]")
file(REMOVE_RECURSE ${OUTPUT}/reprise)
foreach(header IN LISTS headers)
  file(READ ${SOURCE}/${header} text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" included "${include}")
    if(NOT included IN_LIST headers)
      message(FATAL_ERROR "${header} is public and includes ${included}, which is not in trace_library/public_headers.txt")
    endif()
  endforeach()
  # Not by REGEX REPLACE of a list: the text has semicolons.
  string(REPLACE "#include \"" "#include \"reprise/" text "${text}")
  file(WRITE ${OUTPUT}/reprise/${header} "${text}")
endforeach()
