// Prints the version of the C library that programs run with here. Needs no symbol newer than the
// first x86-64 glibc, so that it starts where the bundled programs would not: built without the
// compiler's start files, for theirs ask for the builder's glibc.
#include <gnu/libc-version.h>
#include <string.h>
#include <unistd.h>

// The kernel starts programs with the stack aligned otherwise than a call would.
__attribute__((force_align_arg_pointer)) void _start(void) {
  const char* version = gnu_get_libc_version();
  _exit(write(STDOUT_FILENO, version, strlen(version)) > 0 ? 0 : 1);
}
