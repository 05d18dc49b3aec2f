#include "converters/pytorch/rocprof/stream_waits.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace reprise::pytorch {
namespace {

// The first of these arguments that is there; empty: none is.
std::string_view ArgumentOf(const RocprofArguments& arguments,
                            std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : arguments) {
    if (std::ranges::find(names, std::string_view(name)) != names.end()) {
      return value;
    }
  }
  return {};
}

}  // namespace

StreamCall StreamCallOf(std::string_view name) {
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  return !name.starts_with("hip")                                 ? StreamCall::kNone
         : name.starts_with("hipEventRecord")                     ? StreamCall::kRecord
         : name.starts_with("hipStreamWaitEvent")                 ? StreamCall::kWait
         : has("LaunchKernel") || (has("Memcpy") && has("Async")) ? StreamCall::kLaunch
                                                                  : StreamCall::kNone;
}

void StreamWaits::SeeCall(const RocprofCall& call) {
  const StreamCall kind = StreamCallOf(call.name);
  if (kind == StreamCall::kNone || call.arguments == nullptr || !call.correlation ||
      !call.start_ns || !call.end_ns) {
    return;
  }
  const std::string stream(ArgumentOf(*call.arguments, {"stream", "hStream"}));
  const std::string event(ArgumentOf(*call.arguments, {"event"}));
  if (stream.empty() || (event.empty() && kind != StreamCall::kLaunch)) {
    return;
  }
  if (kind == StreamCall::kRecord) {
    records_[event].push_back(
        {.start_ns = *call.start_ns, .correlation = *call.correlation, .stream = stream});
  } else if (kind == StreamCall::kWait) {
    waits_.push_back({.start_ns = *call.start_ns,
                      .end_ns = *call.end_ns,
                      .correlation = *call.correlation,
                      .stream = stream,
                      .event = event});
  } else if (auto& launches = launches_[stream]; launches.size() < kLaunchesOfAStream) {
    launches.push_back(*call.correlation);
  }
}

void StreamWaits::SeeWork(std::optional<std::int64_t> correlation, std::int64_t device,
                          std::int64_t stream) {
  if (correlation && std::in_range<std::int32_t>(device) && std::in_range<std::int32_t>(stream)) {
    work_.push_back({.correlation = *correlation,
                     .device = static_cast<std::int32_t>(device),
                     .stream = static_cast<std::int32_t>(stream)});
  }
}

std::vector<StreamWaits::Wait> StreamWaits::Find() const {
  std::vector<Wait> out;
  if (waits_.empty()) {
    return out;
  }
  std::unordered_map<std::int64_t, const std::string*> pointers;  // by correlation
  for (const auto& [stream, correlations] : launches_) {
    for (const std::int64_t correlation : correlations) {
      pointers.emplace(correlation, &stream);
    }
  }
  std::unordered_map<std::string_view, const Work*> places;  // of streams, by pointer
  for (const Work& work : work_) {
    if (const auto pointer = pointers.find(work.correlation); pointer != pointers.end()) {
      places.emplace(*pointer->second, &work);
    }
  }
  auto records = records_;
  for (auto& [event, list] : records) {
    std::ranges::sort(list, {}, &Record::start_ns);
  }
  for (const Pending& wait : waits_) {
    const auto of_event = records.find(wait.event);
    const auto to = places.find(wait.stream);
    if (of_event == records.end() || to == places.end()) {
      continue;
    }
    const auto after =
        std::ranges::upper_bound(of_event->second, wait.start_ns, {}, &Record::start_ns);
    if (after == of_event->second.begin()) {
      continue;
    }
    const Record& record = *std::prev(after);
    const auto from = places.find(record.stream);
    if (from != places.end() && from->second->device == to->second->device) {
      out.push_back({.start_ns = wait.start_ns,
                     .end_ns = wait.end_ns,
                     .correlation = wait.correlation,
                     .device = to->second->device,
                     .stream = to->second->stream,
                     .source_correlation = record.correlation,
                     .source_stream = from->second->stream});
    }
  }
  return out;
}

}  // namespace reprise::pytorch
