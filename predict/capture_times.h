// What captures say about their machine, for `reprise calibrate`.
#pragma once

#include <set>
#include <string>

#include "core/result.h"
#include "predict/calibration/calibrate.h"
#include "predict/calibration/kernel_table.h"

namespace reprise {

struct ReadCapture {
  CaptureTimes times;
  std::set<std::string> devices;  // recorded: the device's name, or the processor's without one
  bool streams = false;           // device work; else threads of the host are the device
  // Of a capture that has transfers alone, as recorders of communication libraries write them: its
  // collectives, each from the last arrival to its end. Else without rows.
  KernelTable transfers;
};

// A trace set; or any capture that `reprise convert` reads, which is converted beside `scratch`,
// and removed again. All ranks and steps. Bad input: it is neither, or has no durations.
[[nodiscard]] Result<ReadCapture> ReadCaptureTimes(const std::string& path,
                                                   const std::string& scratch);

}  // namespace reprise
