#include "converters/pytorch/perfetto/device_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/perfetto/packets.h"
#include "core/clock.h"
#include "core/input_file.h"

namespace reprise::pytorch {
namespace {

using TextKind = InternedTexts::Kind;
using NamePair = std::pair<std::string_view, std::string_view>;

// Kineto's category of a stage, by PyTorch's name of it.
constexpr NamePair kStages[] = {{"Kernel", "kernel"},
                                {"Memcpy", "gpu_memcpy"},
                                {"Memset", "gpu_memset"},
                                {"Annotation", "gpu_user_annotation"},
                                {"EventRecord", "graph_event_node"},
                                {"HostNode", "graph_host_node"}};

// Kineto's names of arguments that PyTorch calls otherwise here.
constexpr NamePair kRenamed[] = {{"device id", "device"},
                                 {"stream id", "stream"},
                                 {"context id", "context"},
                                 {"registers_per_thread", "registers per thread"}};

template <std::size_t kCount>
std::string_view Renamed(const NamePair (&names)[kCount], std::string_view name) {
  const auto* const at =
      std::ranges::find(names, name, [](const NamePair& one) { return one.first; });
  return at == std::end(names) ? name : at->second;
}

// One member of an object; opens it.
void AddArgument(std::string_view name, std::string& args) {
  args += args.empty() ? '{' : ',';
  AppendQuoted(Renamed(kRenamed, name), args);
  args += ':';
}

// Three sizes as a list.
bool AddSizes(std::string_view name, std::string_view message, std::string& args) {
  std::array<std::uint64_t, 3> sizes = {1, 1, 1};
  const bool read = ForEachMessageField(message, [&](const MessageField& field) {
    if (field.number >= 1 && field.number <= sizes.size() && field.type == WireType::kVarint) {
      sizes.at(field.number - 1) = std::min<std::uint64_t>(field.bits, INT32_MAX);
    }
    return true;
  });
  AddArgument(name, args);
  fmt::format_to(std::back_inserter(args), "[{},{},{}]", sizes[0], sizes[1], sizes[2]);
  return read;
}

// What a kernel's launch says of registers. Its dynamic shared memory is part of what Kineto
// records, and of no use alone.
bool AddLaunchArgument(std::string_view message, const InternedTexts& texts, std::string& args) {
  std::string_view name;
  std::uint64_t value = 0;
  const bool read = ForEachMessageField(message, [&](const MessageField& field) {
    if (field.Is(1, WireType::kVarint)) {
      const std::string* const text = texts.Find(TextKind::kArgument, field.bits);
      name = text == nullptr ? std::string_view() : *text;
    } else if (field.Is(2, WireType::kBytes)) {
      name = field.bytes;
    } else if (field.Is(3, WireType::kVarint) || field.Is(4, WireType::kVarint)) {
      value = field.bits;
    }
    return true;
  });
  if (name == "registers_per_thread" && value <= INT32_MAX) {
    AddArgument(name, args);
    fmt::format_to(std::back_inserter(args), "{}", value);
  }
  return read;
}

bool AddLaunch(std::string_view message, const InternedTexts& texts, std::string& args) {
  return ForEachMessageField(message, [&](const MessageField& field) {
    return field.Is(1, WireType::kBytes)   ? AddSizes("grid", field.bytes, args)
           : field.Is(2, WireType::kBytes) ? AddSizes("block", field.bytes, args)
           : field.Is(3, WireType::kBytes) ? AddLaunchArgument(field.bytes, texts, args)
                                           : true;
  });
}

struct DeviceWorkSeen {
  std::uint64_t duration_ns = 0;
  std::int32_t gpu = 0;
  std::int64_t queue = 0;
  std::string_view stage, name, kernel, stream;
  std::string args;
};

std::string_view ReadDeviceWork(std::string_view message, const InternedTexts& texts,
                                DeviceWorkSeen& seen) {
  bool known = true;
  const auto interned = [&](TextKind kind, std::uint64_t id, std::string_view& to) {
    const std::string* const text = texts.Find(kind, id);
    known = known && text != nullptr;
    to = text == nullptr ? std::string_view() : *text;
    return true;
  };
  const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
    switch (field.number) {
      case 2:
        seen.duration_ns = field.bits;
        return true;
      case 6: {
        std::string_view name;
        std::string_view value;
        const bool read = ForEachMessageField(field.bytes, [&](const MessageField& part) {
          name = part.Is(1, WireType::kBytes) ? part.bytes : name;
          value = part.Is(2, WireType::kBytes) ? part.bytes : value;
          return true;
        });
        seen.stream = name == "stream id" ? value : seen.stream;
        AddArgument(name, seen.args);
        AppendQuoted(value, seen.args);
        return read;
      }
      case 11:
        seen.gpu = static_cast<std::int32_t>(field.bits);
        return true;
      case 13:
        seen.queue = static_cast<std::int64_t>(field.bits);
        return true;
      case 14:
        return interned(TextKind::kStage, field.bits, seen.stage);
      case 17:
        seen.name = field.bytes;
        return true;
      case 19:
        return interned(TextKind::kKernel, field.bits, seen.kernel);
      case 20:
        return interned(TextKind::kName, field.bits, seen.name);
      case 21:
        return AddLaunch(field.bytes, texts, seen.args);
      default:
        return true;
    }
  });
  return !sound   ? "an event of a GPU is malformed"
         : !known ? "an event of a GPU refers to a text that no packet before it has"
                  : "";
}

}  // namespace

std::string_view AppendDeviceEvent(std::string_view message, const InternedTexts& texts,
                                   std::int64_t time_ns, EventList& events) {
  DeviceWorkSeen seen;
  if (const std::string_view problem = ReadDeviceWork(message, texts, seen); !problem.empty()) {
    return problem;
  }
  if (seen.duration_ns >= static_cast<std::uint64_t>(kMaxUs * kNsPerUs)) {
    return "an event of a GPU has a duration that can't be";
  }
  events.Begin("X");
  events.AddText("cat", Renamed(kStages, seen.stage));
  events.AddText("name", !seen.kernel.empty() ? seen.kernel
                         : !seen.name.empty() ? seen.name
                                              : seen.stage);
  events.AddNumber("pid", seen.gpu);
  if (seen.stream.empty()) {
    events.AddNumber("tid", seen.queue);
  } else {
    events.AddText("tid", seen.stream);
  }
  events.AddTime(time_ns);
  events.AddDuration(static_cast<std::int64_t>(seen.duration_ns));
  if (!seen.args.empty()) {
    events.AddArguments(seen.args + "}");
  }
  events.End();
  return {};
}

std::string_view AppendCounters(std::string_view message, const InternedTexts& texts,
                                std::int64_t time_ns, EventList& events) {
  constexpr std::uint32_t kInline = 1;
  constexpr std::uint32_t kValues = 2;
  constexpr std::uint32_t kGpu = 3;
  constexpr std::uint32_t kInterned = 4;
  InternedTexts::Counters own;
  const InternedTexts::Counters* counters = &own;
  bool sound = ForEachMessageField(message, [&](const MessageField& field) {
    if (field.Is(kGpu, WireType::kVarint)) {
      own.gpu = static_cast<std::int32_t>(field.bits);
    } else if (field.Is(kInterned, WireType::kVarint)) {
      counters = texts.FindCounters(field.bits);
    }
    return !field.Is(kInline, WireType::kBytes) || ReadCounterNames(field.bytes, own.names);
  });
  if (counters == nullptr) {
    return "a sample refers to counters that no packet before it describes";
  }
  sound = sound && ForEachMessageField(message, [&](const MessageField& field) {
            if (!field.Is(kValues, WireType::kBytes)) {
              return true;
            }
            std::uint64_t id = 0;
            std::string value;
            const bool read = ForEachMessageField(field.bytes, [&](const MessageField& part) {
              if (part.Is(1, WireType::kVarint)) {
                id = part.bits;
              } else if (part.Is(2, WireType::kVarint)) {
                value = fmt::format("{}", static_cast<std::int64_t>(part.bits));
              } else if (part.Is(3, WireType::kFixed64)) {
                value.clear();
                AppendReal(part.Real(), value);
              }
              return true;
            });
            const auto name = counters->names.find(id);
            if (name == counters->names.end() || value.empty()) {
              return read;
            }
            if (events.text.size() >
                CurrentInputLimits().string_bytes) {  // a long name, again and again
              return false;
            }
            events.Begin("C");
            events.AddText("name", name->second);
            events.AddText("pid", fmt::format("GPU {} Counters", counters->gpu));
            events.AddTime(time_ns);
            events.AddArguments("{\"\":" + value + "}");
            events.End();
            return read;
          });
  return sound ? "" : "a sample of counters is malformed";
}

}  // namespace reprise::pytorch
