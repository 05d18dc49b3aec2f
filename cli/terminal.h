// Where what this process prints is shown.
#pragma once

namespace reprise {

// Whether STDOUT_FILENO or STDERR_FILENO ends on a terminal. Open MPI's mpirun gives a rank a
// terminal of its own for stdout and a pipe for stderr, wherever its own streams go: under mpirun
// the streams of mpirun count.
[[nodiscard]] bool ShownOnTerminal(int stream);

}  // namespace reprise
