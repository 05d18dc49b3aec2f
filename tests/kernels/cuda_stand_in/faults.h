// Faults on demand, and the log of what was executed: REPRISE_STAND_IN_FAULT and
// REPRISE_STAND_IN_LOG of cuda_stand_in.h.
#pragma once

#include <string>

#include "tests/kernels/cuda_stand_in/driver_types.h"

namespace cuda_stand_in {

// Not thread-safe.
class Faults {
 public:
  // Of the environment; counts go on where it has not changed. False, with a line on stderr, if it
  // is malformed.
  bool Read();

  [[nodiscard]] Code OfInit() const { return kind_ == "init" ? code_ : kOk; }
  // Whether this one fails; each call counts one.
  bool AllocationFails() { return Counts("alloc", allocations_); }
  bool LaunchFails() { return Counts("launch", launches_); }
  // kOk, or what is answered from this operation on.
  Code OfOperation() { return Counts("lost", operations_) ? code_ : kOk; }

 private:
  bool Counts(const char* kind, long& count) const { return ++count == at_ && kind_ == kind; }

  std::string text_, kind_;
  long at_ = 0;
  Code code_ = kUnknown;
  long allocations_ = 0, launches_ = 0, operations_ = 0;
};

// Appends `SEQUENCE stream NUMBER TEXT`. Under Gpu's lock.
void LogOperation(int stream, const std::string& text);

}  // namespace cuda_stand_in
