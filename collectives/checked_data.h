// The data of checked transfers (--check, bench): what each kind's input is, and what its output
// must hold then. Independent of the transport.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/communicator.h"
#include "collectives/pattern.h"
#include "core/comm.h"
#include "core/result.h"

namespace reprise {

// Exactly representable input of this rank (small integers), so that any order of summation is
// exact. `in` holds spec.in_bytes, or more, which stays untouched. A spec whose sizes contradict
// each other never starts: its input is left alone, and its output counts as wrong.
void FillInput(const CommSpec& spec, const GroupPlace& place, std::span<std::byte> in);
// Compares `out` with what must be there afterwards, in closed form: from this rank's spec and the
// group's shape alone. A rank that receives nothing (not the root of a reduce, the sender of a
// send) has nothing wrong.
[[nodiscard]] CheckResult CheckOutput(const CommSpec& spec, const GroupPlace& place,
                                      std::span<const std::byte> out);
// The same as a Status: CheckFailed naming kind, group and the first wrong element.
[[nodiscard]] Status VerifyOutput(const CommSpec& spec, const GroupPlace& place,
                                  std::span<const std::byte> out);

}  // namespace reprise
