#include "converters/pytorch/xla/xplane.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "converters/pytorch/kineto/event_times.h"
#include "core/clock.h"

namespace reprise::pytorch {
namespace {

constexpr std::pair<std::string_view, XStatName> kXStatNames[] = {
    {"hlo_op", XStatName::kHloOp},
    {"hlo_module", XStatName::kHloModule},
    {"hlo_category", XStatName::kHloCategory},
    {"tf_op", XStatName::kTfOp},
    {"name", XStatName::kName},
    {"flops", XStatName::kFlops},
    {"model_flops", XStatName::kModelFlops},
    {"bytes_accessed", XStatName::kBytesAccessed},
    {"raw_bytes_accessed", XStatName::kRawBytesAccessed},
    {"long_name", XStatName::kLongName},
    {"hlo_text", XStatName::kLongName},
    {"program_id", XStatName::kProgramId},
    {"correlation_id", XStatName::kCorrelation},
    {"kernel_details", XStatName::kKernelDetails},
    {"memcpy_details", XStatName::kMemcpyDetails},
    {"memset_details", XStatName::kMemsetDetails},
    {"step_num", XStatName::kStepNumber},
    {"device_ordinal", XStatName::kDeviceOrdinal},
    {"profile_start_time", XStatName::kProfileStart},
    {"device_type_string", XStatName::kDeviceType},
};

// The key and the value of an entry of a map.
bool ReadEntry(std::string_view entry, std::int64_t& key, std::string_view& value) {
  return ForEachMessageField(entry, [&](const MessageField& field) {
    if (field.Is(1, WireType::kVarint)) {
      key = static_cast<std::int64_t>(field.bits);
    } else if (field.Is(2, WireType::kBytes)) {
      value = field.bytes;
    }
    return true;
  });
}

constexpr std::int64_t kPsPerNs = 1'000;

}  // namespace

bool XPlane::AddEventMetadata(std::string_view entry) {
  std::int64_t key = 0;
  std::string_view value;
  if (!ReadEntry(entry, key, value)) {
    return false;
  }
  events.insert_or_assign(key, std::string(value));
  return true;
}

bool XPlane::AddStatMetadata(std::string_view entry) {
  std::int64_t key = 0;
  std::string_view value;
  std::string_view text;
  if (!ReadEntry(entry, key, value) ||
      !ForEachMessageField(value, [&text](const MessageField& field) {
        text = field.Is(2, WireType::kBytes) ? field.bytes : text;
        return true;
      })) {
    return false;
  }
  const auto* const known =
      std::ranges::find(kXStatNames, text, [](const auto& one) { return one.first; });
  if (known != std::end(kXStatNames)) {
    known_stats_.insert_or_assign(key, known->second);
  }
  stat_texts.insert_or_assign(key, std::string(text));
  return true;
}

bool XPlane::ReadStat(std::string_view message, XStat& out) const {
  return ForEachMessageField(message, [&](const MessageField& field) {
    constexpr std::uint32_t kRef = 7;
    constexpr double kMost = 9e18;
    switch (field.number) {
      case 1: {
        const auto known = known_stats_.find(static_cast<std::int64_t>(field.bits));
        out.name = known == known_stats_.end() ? XStatName::kOther : known->second;
        return true;
      }
      case 2:
        out.number =
            field.type == WireType::kFixed64 && field.Real() > -kMost && field.Real() < kMost
                ? static_cast<std::int64_t>(field.Real())
                : 0;
        return true;
      case 3:
      case 4:
        out.number = static_cast<std::int64_t>(field.bits);
        return true;
      case 5:
      case 6:
        out.text = field.bytes;
        out.is_text = true;
        return true;
      case kRef:
        if (const auto text = stat_texts.find(static_cast<std::int64_t>(field.bits));
            text != stat_texts.end()) {
          out.text = text->second;
          out.is_text = true;
        }
        return true;
      default:
        return true;
    }
  });
}

bool ReadXEvent(std::string_view message, const XLineInfo& line, XEvent& out, bool& aggregated) {
  std::int64_t offset_ps = 0;
  std::int64_t duration_ps = 0;
  aggregated = false;
  const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
    const auto number = static_cast<std::int64_t>(field.bits);
    if (field.type == WireType::kVarint) {
      out.metadata = field.number == 1 ? number : out.metadata;
      offset_ps = field.number == 2 ? number : offset_ps;
      duration_ps = field.number == 3 ? number : duration_ps;
      aggregated = aggregated || field.number == 5;
    }
    return true;
  });
  constexpr std::int64_t kLatest = kMaxUs * kNsPerUs;
  if (!sound || duration_ps < 0 || line.start_ns <= -kLatest || line.start_ns >= kLatest ||
      offset_ps > std::numeric_limits<std::int64_t>::max() - duration_ps) {
    return false;
  }
  out.start_ns = line.start_ns + offset_ps / kPsPerNs;
  out.end_ns = line.start_ns + (offset_ps + duration_ps) / kPsPerNs;
  return out.start_ns > -kLatest && out.end_ns < kLatest && out.end_ns >= out.start_ns;
}

XEventNames ReadXEventNames(std::string_view metadata) {
  XEventNames out;
  static_cast<void>(ForEachMessageField(metadata, [&out](const MessageField& field) {
    out.name = field.Is(2, WireType::kBytes) ? field.bytes : out.name;
    out.display = field.Is(4, WireType::kBytes) ? field.bytes : out.display;
    return true;
  }));
  return out;
}

}  // namespace reprise::pytorch
