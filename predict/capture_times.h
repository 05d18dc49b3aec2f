// What captures say about their machine, for `reprise calibrate`.
#pragma once

#include <set>
#include <string>

#include "core/result.h"
#include "predict/calibration/calibrate.h"

namespace reprise {

struct ReadCapture {
  CaptureTimes times;
  std::set<std::string> devices;  // recorded: the device's name, or the processor's without one
  bool streams = false;           // device work; else threads of the host are the device
};

// A trace set; or any capture that `reprise convert` reads, which is converted beside `scratch`,
// and removed again. All ranks and steps. Bad input: it is neither, or has no durations.
[[nodiscard]] Result<ReadCapture> ReadCaptureTimes(const std::string& path,
                                                   const std::string& scratch);

}  // namespace reprise
