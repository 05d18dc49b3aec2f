// A profile of XLA, as JAX's profiler writes it, read as the JSON text of a Kineto file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "converters/pytorch/xla/xla_profile.h"
#include "converters/text_source.h"
#include "core/result.h"

namespace reprise::pytorch {

// Which device of a file, the rank of the file's first one, and how many ranks there are: a rank is
// a device. In one number, as files of other profilers number processes.
struct XlaRank {
  std::int64_t index = 0, first_rank = 0, ranks = 0;
  [[nodiscard]] std::int64_t Number() const;
  static XlaRank Of(std::int64_t number);
};

// Bad input: a profile without work of a device.
[[nodiscard]] tl::unexpected<Error> NoXlaWork(const std::string& path);

// The events of one device, by XlaRank::Number; -1: the only one. Rules: device_lines.h,
// host_lines.h. Memory: names, programs' transfers, and 40 bytes for each launch and each
// asynchronous operation. Bad input names the byte, unpacked.
[[nodiscard]] Result<std::unique_ptr<TextSource>> OpenXlaText(const std::string& path,
                                                              std::int64_t device);

}  // namespace reprise::pytorch
