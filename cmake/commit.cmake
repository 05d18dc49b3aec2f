# cmake -DSOURCE=DIR -DOUTPUT=FILE -P commit.cmake: writes FILE, a header with the commit of the sources in
# DIR, only where that changes it. A build from an archive knows no commit; nor is that of another
# repository, in which the archive happens to lie, the right one.
set(commit unknown)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
                OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
file(REAL_PATH ${SOURCE} source)
if(NOT failed AND root STREQUAL source)
  # --exclude: no tag, so that the text is the commit alone. "-dirty": tracked files differ from it.
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// Written by cmake/commit.cmake.
inline constexpr char kCommit[] = "@commit@";
]])
