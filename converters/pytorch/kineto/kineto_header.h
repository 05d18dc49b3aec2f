// What a Kineto trace says beside its events: time base, host, devices, process groups. Part of
// kineto.cc.
#pragma once

#include <cstdint>

#include "converters/json_stream.h"
#include "converters/pytorch/kineto/kineto.h"

namespace reprise::pytorch {

// Into `trace` and `base_ns`; the trace's device events are there already. Bad input: no list of
// events, a time or rank that can't be.
[[nodiscard]] Status ReadKinetoHeader(const TextFile& file, const SplitJson& json,
                                      std::int64_t& base_ns, KinetoTrace& trace,
                                      Diagnostics& diagnostics);

}  // namespace reprise::pytorch
