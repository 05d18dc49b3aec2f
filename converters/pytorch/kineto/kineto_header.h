// What a Kineto trace says beside its events: time base, host, devices, process groups. Part of
// kineto.cc.
#pragma once

#include <cstdint>

#include "converters/json_stream.h"
#include "converters/pytorch/kineto/kineto.h"

namespace reprise::pytorch {

// Beyond this a time is damage (3e15 µs are the year 2065); three of them still add up.
inline constexpr std::int64_t kMaxUs = 3'000'000'000'000'000;

// Into `trace` and `base_ns`; the trace's device events are there already. Bad input: no list of
// events, a time or rank that can't be.
[[nodiscard]] Status ReadKinetoHeader(const TextFile& file, const SplitJson& json,
                                      std::int64_t& base_ns, KinetoTrace& trace,
                                      Diagnostics& diagnostics);

}  // namespace reprise::pytorch
