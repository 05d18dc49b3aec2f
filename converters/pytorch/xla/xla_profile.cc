#include "converters/pytorch/xla/xla_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/input_file.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kMetadataPlane = "/host:metadata";
constexpr std::string_view kTaskPlane = "Task Environment";
constexpr std::uint64_t kMostPlanes = 65'536;

// "jit_step(17)" → 17, which its operations call their program.
std::optional<std::int64_t> ProgramInName(std::string_view name) {
  const std::size_t open = name.rfind('(');
  return open == std::string_view::npos || !name.ends_with(')')
             ? std::nullopt
             : ParseNumber<std::int64_t>(name.substr(open + 1, name.size() - open - 2));
}

}  // namespace

bool IsXlaProfile(const std::string& path) {
  constexpr std::size_t kHeadOfPlane = 256;
  return BeginsAsXSpace(ReadHead(path, kHeadOfPlane));
}

bool IsDevicePlane(std::string_view name, std::int64_t& ordinal) {
  constexpr std::string_view kDevice = "/device:";
  constexpr std::string_view kCustom = "/device:CUSTOM:";
  const std::size_t colon = name.rfind(':');
  if (!name.starts_with(kDevice) || name.starts_with(kCustom) || colon < kDevice.size()) {
    return false;
  }
  const auto number = ParseNumber<std::int64_t>(name.substr(colon + 1));
  ordinal = number.value_or(-1);
  constexpr std::int64_t kMostOrdinal = 1 << 20;
  return ordinal >= 0 && ordinal < kMostOrdinal;
}

bool IsOperationsLine(std::string_view line) { return line == "XLA Ops"; }
bool IsAsyncLine(std::string_view line) { return line == "Async XLA Ops"; }
bool IsStreamLine(std::string_view line) { return line.starts_with("Stream #"); }

Status XlaProfile::AddPlaneField(const XSpaceReader& reader, const XSpaceField& field,
                                 const Kept& kept) {
  if (static_cast<std::uint64_t>(reader.plane()) >= kMostPlanes) {
    return reader.Damaged(field.at_byte, fmt::format("over {} planes", kMostPlanes));
  }
  planes_.resize(std::max(planes_.size(), static_cast<std::size_t>(reader.plane()) + 1));
  XPlane& plane = planes_[static_cast<std::size_t>(reader.plane())];
  const auto count = [this, &reader, &field]() -> Status {
    if (++kept_ > CurrentInputLimits().values) {
      return OverLimit(
          "a profile of XLA",
          fmt::format("byte {} (unpacked): over {} names and lines", field.at_byte, kept_ - 1),
          "values");
    }
    static_cast<void>(reader);
    return {};
  };
  if (field.level == XSpaceLevel::kLine) {
    if (static_cast<std::size_t>(reader.line()) >= plane.lines.size()) {
      REPRISE_TRY(count());
      plane.lines.resize(static_cast<std::size_t>(reader.line()) + 1);
    }
    XLineInfo& line = plane.lines[static_cast<std::size_t>(reader.line())];
    const MessageField& value = field.field;
    if (value.Is(kLineEvents, WireType::kBytes)) {
      ++line.events;
    } else if (value.Is(kLineName, WireType::kBytes) ||
               (value.Is(kLineDisplayName, WireType::kBytes) && line.name.empty())) {
      line.name = value.bytes;
    } else if (value.Is(kLineId, WireType::kVarint)) {
      line.id = static_cast<std::int64_t>(value.bits);
    } else if (value.Is(kLineTimestamp, WireType::kVarint)) {
      line.start_ns = static_cast<std::int64_t>(value.bits);
    }
    return {};
  }
  if (field.field.type != WireType::kBytes) {
    return {};
  }
  bool sound = true;
  switch (field.field.number) {
    case kPlaneName:
      plane.name = field.field.bytes;
      break;
    case kPlaneEventMetadata:
      if (kept.all && plane.name == kMetadataPlane) {
        sound = AddModule(field.field.bytes);
      } else if (kept.all && (reader.plane() == kept.plane || plane.name == kHostPlane)) {
        REPRISE_TRY(count());
        sound = plane.AddEventMetadata(field.field.bytes);
      }
      break;
    case kPlaneStatMetadata:
      REPRISE_TRY(count());
      sound = plane.AddStatMetadata(field.field.bytes);
      break;
    case kPlaneStats:
      REPRISE_TRY(count());
      plane.own_stats.emplace_back(field.field.bytes);
      break;
    default:
      break;
  }
  return sound
             ? Status()
             : reader.Damaged(field.at_byte, fmt::format("a name or value of plane {} is malformed",
                                                         reader.plane()));
}

bool XlaProfile::AddModule(std::string_view entry) {
  std::int64_t program = 0;
  bool sound = true;
  const bool read = ForEachMessageField(entry, [&](const MessageField& field) {
    if (field.Is(1, WireType::kVarint)) {
      program = static_cast<std::int64_t>(field.bits);
    }
    if (!field.Is(2, WireType::kBytes)) {
      return true;
    }
    program = ProgramInName(ReadXEventNames(field.bytes).name).value_or(program);
    return ForEachMessageField(field.bytes, [&](const MessageField& part) {
      return !part.Is(kXEventMetadataStats, WireType::kBytes) ||
             ForEachMessageField(part.bytes, [&](const MessageField& value) {
               constexpr std::uint32_t kBytesValue = 6;
               if (value.Is(kBytesValue, WireType::kBytes)) {
                 sound = ReadHloProto(value.bytes, modules_[program]);
               }
               return sound;
             });
    });
  });
  return read && sound;
}

Status XlaProfile::ReadAll(const std::string& path, const Kept& kept) {
  REPRISE_ASSIGN(const std::unique_ptr<TextSource> source, TextSource::Open(path));
  XSpaceReader reader(*source);
  XSpaceField field;
  for (;;) {
    REPRISE_ASSIGN(const bool more, reader.Next(field));
    if (!more) {
      break;
    }
    if (field.level == XSpaceLevel::kSpace) {
      if (field.field.Is(kSpaceHostnames, WireType::kBytes) && host_.empty()) {
        host_ = field.field.bytes;
      }
      continue;
    }
    REPRISE_TRY(AddPlaneField(reader, field, kept));
  }
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    if (planes_[i].name == kHostPlane && host_plane_ < 0) {
      host_plane_ = static_cast<std::int64_t>(i);
    }
  }
  FindBase();
  return {};
}

// Times are since the profile's begin, or since 1970, as older versions wrote them.
void XlaProfile::FindBase() {
  for (const XPlane& plane : planes_) {
    if (plane.name != kTaskPlane) {
      continue;
    }
    for (const std::string& message : plane.own_stats) {
      XStat stat;
      if (plane.ReadStat(message, stat) && stat.name == XStatName::kProfileStart) {
        base_ns_ = stat.number;
      }
    }
  }
  constexpr std::int64_t kLatestBase = 3'000'000'000'000'000'000;
  const auto since_1970 = [this](const XPlane& plane) {
    return std::ranges::any_of(plane.lines, [this](const XLineInfo& line) {
      return line.events > 0 && line.start_ns >= base_ns_;
    });
  };
  if (base_ns_ < 0 || base_ns_ >= kLatestBase || std::ranges::any_of(planes_, since_1970)) {
    base_ns_ = 0;
  }
}

void XlaProfile::FindDevices() {
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    XlaDevice device{.ordinal = 0, .plane = static_cast<std::int64_t>(i)};
    if (!IsDevicePlane(planes_[i].name, device.ordinal)) {
      continue;
    }
    const bool works = std::ranges::any_of(planes_[i].lines, [](const XLineInfo& line) {
      return line.events > 0 && (IsOperationsLine(line.name) || IsStreamLine(line.name));
    });
    idle_devices_ += works ? 0 : 1;
    if (works) {
      devices_.push_back(device);
    }
  }
  std::ranges::stable_sort(devices_, {}, &XlaDevice::ordinal);
}

Status XlaProfile::FindHostDevices(const std::string& path) {
  REPRISE_ASSIGN(const std::unique_ptr<TextSource> source, TextSource::Open(path));
  XSpaceReader reader(*source);
  std::set<std::int64_t> found;
  XSpaceField field;
  for (;;) {
    REPRISE_ASSIGN(const bool more, reader.Next(field));
    if (!more) {
      break;
    }
    if (field.level != XSpaceLevel::kSpace && reader.plane() != host_plane_) {
      REPRISE_TRY(reader.SkipPlane());
    } else if (field.Is(XSpaceLevel::kLine, kLineEvents, WireType::kBytes)) {
      std::int64_t ordinal = -1;
      bool operation = false;
      if (!Plane(host_plane_).ForEachStat(field.field.bytes, kXEventStats, [&](const XStat& stat) {
            ordinal = stat.name == XStatName::kDeviceOrdinal ? stat.number : ordinal;
            operation = operation || stat.name == XStatName::kHloOp;
          })) {
        return reader.Damaged(field.at_byte, "an event is malformed");
      }
      if (operation && ordinal >= 0) {
        found.insert(ordinal);
      }
      if (found.size() > CurrentInputLimits().ranks) {
        return OverLimit(path, "its devices", "ranks");
      }
    }
  }
  for (const std::int64_t ordinal : found) {
    devices_.push_back({.ordinal = ordinal, .plane = host_plane_, .on_host = true});
  }
  return {};
}

Result<XlaProfile> XlaProfile::Describe(const std::string& path) {
  XlaProfile out;
  REPRISE_TRY(out.ReadAll(path, {}));
  out.FindDevices();
  if (out.devices_.empty() && out.host_plane_ >= 0) {
    REPRISE_TRY(out.FindHostDevices(path));
  }
  if (std::ssize(out.devices_) > kMostXlaDevices) {
    return BadInput(fmt::format("{}: work of {} devices; no host has over {}", path,
                                out.devices_.size(), kMostXlaDevices));
  }
  return out;
}

Result<XlaProfile> XlaProfile::Read(const std::string& path, const XlaDevice& device) {
  XlaProfile out;
  REPRISE_TRY(out.ReadAll(path, {.all = true, .plane = device.plane}));
  out.devices_.push_back(device);
  return out;
}

}  // namespace reprise::pytorch
