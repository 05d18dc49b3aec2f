// The program: parses the command line, runs the command, turns its error into the exit code.
#pragma once

namespace reprise {

// The exit code: 0 ok, 1 a check failed, 2 usage, 3 bad input, 4 environment. Once a process; never
// throws.
[[nodiscard]] int RunProgram(int argc, char** argv);

}  // namespace reprise
