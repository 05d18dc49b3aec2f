// The file that keeps what was measured of collectives (docs/algorithms.md).
#pragma once

#include <string>

#include "collectives/bench/measured_choices.h"
#include "core/result.h"

namespace reprise {

// What a measurement holds for: another MPI, processor, number of cores or of ranks on a host, or
// other hosts are another machine.
struct MeasuredMachine {
  std::string mpi;        // version of the library
  std::string processor;  // of rank 0's host
  int cores = 0;          // that rank 0 may use
  int ranks_per_host = 0;
  std::vector<std::string> hosts;  // where there are several
  bool operator==(const MeasuredMachine&) const = default;
};

// Empty where the file, or its entry, does not exist. Bad input where it is no such file.
[[nodiscard]] Result<MeasuredTable> ReadMeasured(const std::string& path,
                                                 const MeasuredMachine& machine);
// Adds to the file, in place of what it has of the same classes. Of many machines the newest stay.
[[nodiscard]] Status KeepMeasured(const std::string& path, const MeasuredMachine& machine,
                                  const MeasuredTable& table);

}  // namespace reprise
