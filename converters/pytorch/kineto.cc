#include "converters/pytorch/kineto.h"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>
#include <optional>

#include "converters/json_split.h"
#include "converters/pytorch/kineto_host.h"
#include "converters/pytorch/shape_hash.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

constexpr std::int64_t kNsPerUs = 1000;
// Beyond this a time is damage (3e15 µs are the year 2065); three of them still add up.
constexpr std::int64_t kMostUs = 3'000'000'000'000'000;
constexpr std::int64_t kMostRanks = 1 << 24;

// "ts" is in µs with a fraction. Since-boot values keep their nanoseconds in a double (2^53 ns are
// 104 days); since-epoch values of old files do not, but those have whole µs anyway.
bool ReadMicroseconds(element value, std::int64_t& ns) {
  std::int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS && whole > -kMostUs && whole < kMostUs) {
    ns = whole * kNsPerUs;
    return true;
  }
  double us = 0;
  if (value.get(us) != simdjson::SUCCESS) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS ||
        std::from_chars(text.data(), text.data() + text.size(), us).ec != std::errc()) {
      return false;
    }
  }
  if (!(std::abs(us) < static_cast<double>(kMostUs))) {  // nor NaN
    return false;
  }
  ns = std::llround(us * static_cast<double>(kNsPerUs));
  return true;
}

std::int64_t IntegerOr(simdjson::simdjson_result<element> value, std::int64_t fallback) {
  std::int64_t out = 0;
  return value.get(out) == simdjson::SUCCESS ? out : fallback;
}

// Of tensors alone: lists of tensors are written by some versions only.
std::uint32_t HashInputDims(const simdjson::simdjson_result<element>& dims) {
  ShapeHash hash;
  simdjson::dom::array inputs;
  if (dims.get(inputs) != simdjson::SUCCESS) {
    return 0;
  }
  for (const element input : inputs) {
    simdjson::dom::array shape;
    if (input.get(shape) != simdjson::SUCCESS) {
      continue;
    }
    hash.Begin();
    for (const element size : shape) {
      if (std::int64_t value = 0; size.get(value) == simdjson::SUCCESS) {
        hash.Add(value);
      }
    }
  }
  return hash.Get();
}

enum class Outcome { kKept, kOther, kDamaged };

// {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 10159, "ts": 4370094527776.776,
//  "dur": 290.974, "args": {"External id": 3, "Record function id": 4, …}}
Outcome ReadEvent(element root, std::int64_t base_ns, bool with_arguments, StringPool& strings,
                  DeviceTrace& device, KinetoEvent& event) {
  std::string_view phase;
  std::string_view category;
  if (root["ph"].get(phase) != simdjson::SUCCESS || phase != "X" ||
      root["cat"].get(category) != simdjson::SUCCESS) {
    return Outcome::kOther;
  }
  event.annotation = category == "user_annotation";
  const bool host = event.annotation || category == "cpu_op";
  std::string_view name;
  element ts;
  element duration;
  std::int64_t duration_ns = 0;
  if (root["name"].get(name) != simdjson::SUCCESS || root["ts"].get(ts) != simdjson::SUCCESS ||
      !ReadMicroseconds(ts, event.start_ns) || root["dur"].get(duration) != simdjson::SUCCESS ||
      !ReadMicroseconds(duration, duration_ns) || duration_ns < 0) {
    return host || IsDeviceCategory(category) ? Outcome::kDamaged : Outcome::kOther;
  }
  event.start_ns += base_ns;
  event.end_ns = event.start_ns + duration_ns;
  if (!host) {
    static_cast<void>(
        AddDeviceEvent(root, category, event.start_ns, event.end_ns, strings, device));
    return Outcome::kOther;
  }
  event.name = strings.Intern(name);
  event.thread = IntegerOr(root["tid"], -1);
  if (element args; root["args"].get(args) == simdjson::SUCCESS) {
    event.rf_id = IntegerOr(args["Record function id"], -1);
    event.external_id = IntegerOr(args["External id"], -1);
    event.ev_idx = IntegerOr(args["Ev Idx"], -1);
    event.seq_id = IntegerOr(args["Sequence number"], -1);
    event.input_shapes = HashInputDims(args["Input Dims"]);
    if (name == "record_param_comms") {
      event.comm = ReadKinetoComm(args);
    }
    if (with_arguments) {
      event.arguments = ReadKinetoArguments(args);
    }
  }
  return Outcome::kKept;
}

template <typename T>
void AppendTo(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void Append(DeviceTrace from, DeviceTrace& to) {
  AppendTo(to.calls, std::move(from.calls));
  AppendTo(to.events, std::move(from.events));
  AppendTo(to.syncs, std::move(from.syncs));
}

// The process of the first event that was kept: events of others are rare and not followed.
std::int64_t ProcessOf(const TextFile& file, const SplitJson& json,
                       const std::vector<Outcome>& outcomes) {
  const auto kept = std::find(outcomes.begin(), outcomes.end(), Outcome::kKept);
  simdjson::dom::parser parser;
  std::int64_t process = -1;
  if (kept == outcomes.end()) {
    return process;
  }
  const auto at = static_cast<std::size_t>(kept - outcomes.begin());
  const auto root = ParseElement(parser, file, json.elements[at]);
  return root ? IntegerOr((*root)["pid"], -1) : -1;
}

Status ReadHeader(const TextFile& file, const SplitJson& json, std::int64_t& base_ns,
                  KinetoTrace& trace) {
  if (!json.has_array) {
    return BadInput(fmt::format(
        "{}: no \"traceEvents\" list: not a Kineto trace{}", file.path(),
        json.Member("schema").empty() ? "" : " but a host execution trace; are the two swapped?"));
  }
  simdjson::dom::parser parser;
  if (const std::string_view raw = json.Member("baseTimeNanoseconds"); !raw.empty()) {
    REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
    if (root.get(base_ns) != simdjson::SUCCESS || base_ns < 0 || base_ns > kMostUs * kNsPerUs) {
      return BadInput(fmt::format("{}: baseTimeNanoseconds {} is no time", file.path(), base_ns));
    }
  }
  if (const std::string_view raw = json.Member("host_name"); !raw.empty()) {
    REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
    if (std::string_view name; root.get(name) == simdjson::SUCCESS) {
      trace.host_name = name;
    }
  }
  if (const std::string_view raw = json.Member("distributedInfo"); !raw.empty()) {
    REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
    trace.rank = IntegerOr(root["rank"], -1);
    trace.world_size = IntegerOr(root["world_size"], -1);
    if (trace.rank > kMostRanks || trace.world_size > kMostRanks) {
      return BadInput(fmt::format("{}: rank {} of {} ranks can't be", file.path(), trace.rank,
                                  trace.world_size));
    }
    if (element groups; root["pg_config"].get(groups) == simdjson::SUCCESS) {
      trace.groups = ParseGroupRecords(simdjson::minify(groups));
    }
  }
  return {};
}

}  // namespace

Result<KinetoTrace> ReadKineto(const TextFile& file, bool with_arguments,
                               Diagnostics& diagnostics) {
  REPRISE_ASSIGN(const SplitJson json, SplitObject(file, "traceEvents"));
  KinetoTrace trace;
  std::int64_t base_ns = 0;
  REPRISE_TRY(ReadHeader(file, json, base_ns, trace));
  trace.strings = std::make_shared<StringPool>();
  trace.events.resize(json.elements.size());
  std::vector<Outcome> outcomes(json.elements.size(), Outcome::kOther);
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> first_error;
  struct Local {
    simdjson::dom::parser parser;
    DeviceTrace device;
  };
  oneapi::tbb::enumerable_thread_specific<Local> locals;
  oneapi::tbb::parallel_for(
      oneapi::tbb::blocked_range<std::size_t>(0, json.elements.size(), 256),
      [&](const oneapi::tbb::blocked_range<std::size_t>& range) {
        Local& local = locals.local();
        for (std::size_t i = range.begin(); i != range.end(); ++i) {
          const auto root = ParseElement(local.parser, file, json.elements[i]);
          if (!root) {
            const std::scoped_lock lock(mutex);
            if (!first_error || i < first_error->first) {
              first_error.emplace(i, root.error());
            }
            return;
          }
          outcomes[i] = ReadEvent(*root, base_ns, with_arguments, *trace.strings, local.device,
                                  trace.events[i]);
        }
      });
  if (first_error) {
    return tl::unexpected<Error>(std::move(first_error->second));
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == Outcome::kKept) {
      if (kept != i) {
        trace.events[kept] = std::move(trace.events[i]);
      }
      ++kept;
    } else if (outcomes[i] == Outcome::kDamaged) {
      diagnostics.Count("kineto_event_without_time",
                        fmt::format("{}: byte {}", file.path(), file.OffsetOf(json.elements[i])));
    }
  }
  for (Local& local : locals) {
    Append(std::move(local.device), trace.device);
  }
  FinishDeviceTrace(file.path(), trace.device, diagnostics);
  trace.events.resize(kept);
  trace.process = ProcessOf(file, json, outcomes);
  if (kept == 0 && trace.device.empty()) {
    return BadInput(
        fmt::format("{}: holds no host operation (category cpu_op); was the profiler "
                    "run with CPU activities?",
                    file.path()));
  }
  return trace;
}

}  // namespace reprise::pytorch
