#include "converters/pytorch/kineto/kineto_header.h"

#include <fmt/format.h>

#include <set>

#include "converters/json_members.h"
#include "core/clock.h"
#include "core/input_file.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

// "deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-32GB", …}, …] of all devices of the host.
// ROCm counts events' devices otherwise: there, the name is certain only if all devices have it.
std::string DeviceName(element properties, std::int64_t device) {
  simdjson::dom::array devices;
  if (properties.get(devices) != simdjson::SUCCESS) {
    return {};
  }
  std::set<std::string_view> names;
  for (const element entry : devices) {
    std::string_view name;
    if (entry["name"].get(name) != simdjson::SUCCESS) {
      continue;
    }
    if (GetOr(entry["id"], std::int64_t{-1}) == device) {
      return std::string(name);
    }
    names.insert(name);
  }
  return names.size() == 1 ? std::string(*names.begin()) : std::string();
}

// A whole number from `least`; -1: absent, or something else, which is counted.
std::int64_t IdentityNumber(const TextFile& file, element info, std::string_view key,
                            std::int64_t least, Diagnostics& diagnostics) {
  element value;
  if (info[key].get(value) != simdjson::SUCCESS) {
    return -1;
  }
  const std::int64_t number = GetOr(value, std::int64_t{-1});
  if (number < least) {
    diagnostics.Count("identity_unreadable", fmt::format("{}: distributedInfo.{} {}", file.path(),
                                                         key, simdjson::minify(value)));
    return -1;
  }
  return number;
}

Status ReadDistributedInfo(const TextFile& file, std::string_view raw, KinetoTrace& trace,
                           Diagnostics& diagnostics) {
  simdjson::dom::parser parser;
  REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
  trace.rank = IdentityNumber(file, root, "rank", 0, diagnostics);
  trace.world_size = IdentityNumber(file, root, "world_size", 1, diagnostics);
  for (const std::int64_t ranks : {trace.rank, trace.world_size}) {
    if (ranks > 0 && static_cast<std::uint64_t>(ranks) > CurrentInputLimits().ranks) {
      return OverLimit(file.path(), fmt::format("a job of {} ranks", ranks), "ranks");
    }
  }
  if (trace.world_size >= 0 && trace.rank >= trace.world_size) {
    return BadInput(
        fmt::format("{}: rank {} of {} ranks can't be", file.path(), trace.rank, trace.world_size));
  }
  trace.backend = TextOr(root["backend"]);
  simdjson::dom::array groups;
  if (root["pg_config"].get(groups) == simdjson::SUCCESS) {
    for (const element group : groups) {
      IdentityNumber(file, group, "pg_size", 1, diagnostics);
    }
    trace.groups = ParseGroupRecords(simdjson::minify(groups));
  }
  return {};
}

// What a reader of another profiler's file left out or assumed (xla/xla_text.cc).
struct LeftOutCounter {
  const char* name;
};
constexpr LeftOutCounter kLeftOut[] = {
    {"xla_async_unpaired"},   {"xla_device_order"}, {"xla_enclosing_event"}, {"xla_event_left_out"},
    {"xla_member_elsewhere"}, {"xla_python_frame"}, {"xla_wait_event"}};

Status CountLeftOut(const TextFile& file, std::string_view raw, Diagnostics& diagnostics) {
  simdjson::dom::parser parser;
  REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
  for (const auto& [name] : kLeftOut) {
    if (const std::int64_t count = GetOr(root[name], std::int64_t{0}); count > 0) {
      diagnostics.Count(name, file.path(), static_cast<std::uint64_t>(count));
    }
  }
  return {};
}

}  // namespace

Status ReadKinetoHeader(const TextFile& file, const SplitJson& json, std::int64_t& base_ns,
                        KinetoTrace& trace, Diagnostics& diagnostics) {
  if (!json.has_array) {
    return BadInput(fmt::format(
        "{}: no \"traceEvents\" list: not a Kineto trace{}", file.path(),
        json.Member("schema").empty() ? "" : " but a host execution trace; are the two swapped?"));
  }
  simdjson::dom::parser parser;
  if (const std::string_view raw = json.Member("baseTimeNanoseconds"); !raw.empty()) {
    REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
    if (root.get(base_ns) != simdjson::SUCCESS || base_ns < 0 || base_ns > kMaxUs * kNsPerUs) {
      return BadInput(fmt::format("{}: baseTimeNanoseconds {} is no time", file.path(), base_ns));
    }
  }
  if (const std::string_view raw = json.Member("host_name"); !raw.empty()) {
    REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
    trace.host_name = TextOr(root);
  }
  if (const std::string_view raw = json.Member("deviceProperties");
      !raw.empty() && !trace.device.events.empty()) {
    REPRISE_ASSIGN(const element root, ParseElement(parser, file, raw));
    trace.device_name = DeviceName(root, trace.device.events.front().device);
  }
  if (const std::string_view raw = json.Member("leftOut"); !raw.empty()) {
    REPRISE_TRY(CountLeftOut(file, raw, diagnostics));
  }
  if (const std::string_view raw = json.Member("distributedInfo"); !raw.empty()) {
    REPRISE_TRY(ReadDistributedInfo(file, raw, trace, diagnostics));
  }
  return {};
}

}  // namespace reprise::pytorch
