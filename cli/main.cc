// reprise: the one executable.
#include "cli/program/program.h"

int main(int argc, char** argv) { return reprise::RunProgram(argc, argv); }
