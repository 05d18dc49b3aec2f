// What streams of HIP wait for on each other: pointers in the arguments of calls, which records do
// not have. Work says which number of a stream a pointer is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/pytorch/rocprof/rocprof_records.h"

namespace reprise::pytorch {

enum class StreamCall : std::uint8_t {
  kNone,
  kRecord,  // hipEventRecord: an event, on a stream
  kWait,    // hipStreamWaitEvent: a stream, for an event
  kLaunch,  // hipLaunchKernel, hipMemcpyAsync: work on a stream
};
[[nodiscard]] StreamCall StreamCallOf(std::string_view name);

class StreamWaits {
 public:
  // Enough launches of a stream are known: others need not be seen.
  static constexpr std::size_t kLaunchesOfAStream = 16;

  // A call with its arguments, in any order.
  void SeeCall(const RocprofCall& call);
  // A dispatch or a copy, in any order.
  void SeeWork(std::optional<std::int64_t> correlation, std::int64_t device, std::int64_t stream);

  struct Wait {
    std::int64_t start_ns = 0, end_ns = 0;  // of the call
    std::int64_t correlation = 0;           // of the call
    std::int64_t device = 0, stream = 0;    // that waits
    std::int64_t source_correlation = 0;    // of the record
    std::int64_t source_stream = 0;
  };
  // The waits whose event was recorded before, on streams that had work. Of the event's records,
  // the last that had begun.
  [[nodiscard]] std::vector<Wait> Find() const;

 private:
  struct Record {
    std::int64_t start_ns = 0, correlation = 0;
    std::string stream;
  };
  struct Pending {
    std::int64_t start_ns = 0, end_ns = 0, correlation = 0;
    std::string stream, event;
  };
  struct Work {
    std::int64_t correlation = 0;
    std::int32_t device = 0, stream = 0;
  };
  std::unordered_map<std::string, std::vector<Record>> records_;         // by event
  std::unordered_map<std::string, std::vector<std::int64_t>> launches_;  // by stream: correlations
  std::vector<Pending> waits_;
  std::vector<Work> work_;
};

}  // namespace reprise::pytorch
