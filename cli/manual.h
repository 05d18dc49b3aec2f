// What the manual page and docs/command_line.md share besides the options.
#pragma once

#include <string>
#include <string_view>

#include "cli/option_tree.h"

namespace reprise {

struct ManualEntry {
  std::string_view name;
  std::string_view text;
};

inline constexpr ManualEntry kManualExitCodes[] = {
    {"0", "success"},
    {"1", "a check failed: validation, verification of a transfer, a condition of --fail-if"},
    {"2", "wrong usage, or the output exists (--force replaces it)"},
    {"3", "bad input: a file is damaged, has the wrong format or contradicts another file"},
    {"4", "the machine lacks something: a device, memory, disk space, a permission"},
};

inline constexpr ManualEntry kManualEnvironment[] = {
    {"OCL_ICD_VENDORS",
     "directory that registers OpenCL drivers (default: /etc/OpenCL/vendors). Where it is set, "
     "Reprise looks for no other driver."},
    {"OMP_NUM_THREADS",
     "compute threads of each rank (default: cores of the host divided by its ranks)"},
    {"XDG_CACHE_HOME",
     "cache directory (default: $HOME/.cache). `reprise tune` writes reprise/tuning.json there, "
     "and `reprise replay` reads it."},
};

// "required; POSITIVE; default: 3"; empty where there is nothing to remark.
[[nodiscard]] std::string ManualRemarks(const OptionFacts& option);

// Every command lists --help. The manual lists it once, for the program.
[[nodiscard]] bool ManualShows(const OptionFacts& option, const CommandFacts& command);

// The page docs/command_line.md.
[[nodiscard]] std::string MarkdownManual(const CommandFacts& program);

}  // namespace reprise
