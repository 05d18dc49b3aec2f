// What a plane of XLA's profile says beside its events, and what one event says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"

namespace reprise::pytorch {

// The statistics that are read, by their names (xla/tsl/profiler/utils/xplane_schema.cc).
enum class XStatName : std::uint8_t {
  kOther,
  kHloOp,
  kHloModule,
  kHloCategory,
  kTfOp,  // the path of the operation in the program; on GPUs "XlaModule:"
  kName,  // … there
  kFlops,
  kModelFlops,
  kBytesAccessed,
  kRawBytesAccessed,
  kLongName,
  kProgramId,
  kCorrelation,
  kKernelDetails,
  kMemcpyDetails,
  kMemsetDetails,
  kStepNumber,
  kDeviceOrdinal,
  kProfileStart,
  kDeviceType,
};

struct XStat {
  XStatName name = XStatName::kOther;
  bool is_text = false;
  std::int64_t number = 0;  // of a real: its whole part
  std::string_view text;
};

struct XLineInfo {
  std::int64_t id = 0;
  std::int64_t start_ns = 0;
  std::string name;
  std::uint64_t events = 0;
};

struct XEvent {
  std::int64_t metadata = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};

class XPlane {
 public:
  std::string name;
  std::vector<XLineInfo> lines;
  std::vector<std::string> own_stats;                        // XStat messages
  std::unordered_map<std::int64_t, std::string> events;      // XEventMetadata messages, by id
  std::unordered_map<std::int64_t, std::string> stat_texts;  // names, and texts that stats refer to

  // Takes an entry of a map of metadata. False: malformed.
  [[nodiscard]] bool AddEventMetadata(std::string_view entry);
  [[nodiscard]] bool AddStatMetadata(std::string_view entry);

  // Calls `visit` for each known statistic of a message: those are its fields `number`. False:
  // malformed.
  template <typename Visit>
  [[nodiscard]] bool ForEachStat(std::string_view message, std::uint32_t number,
                                 const Visit& visit) const;
  // Of one XStat message. False: malformed.
  [[nodiscard]] bool ReadStat(std::string_view message, XStat& out) const;

 private:
  std::unordered_map<std::int64_t, XStatName> known_stats_;
};

inline constexpr std::uint32_t kXEventStats = 4;
inline constexpr std::uint32_t kXEventMetadataStats = 5;

// The event's times; false: malformed, or no time. An event that is a sum of several has none:
// `aggregated`.
[[nodiscard]] bool ReadXEvent(std::string_view message, const XLineInfo& line, XEvent& out,
                              bool& aggregated);
// The names of an XEventMetadata message; empty: none.
struct XEventNames {
  std::string_view name, display;
};
[[nodiscard]] XEventNames ReadXEventNames(std::string_view metadata);

}  // namespace reprise::pytorch

#include "converters/message_fields.h"

namespace reprise::pytorch {

template <typename Visit>
bool XPlane::ForEachStat(std::string_view message, std::uint32_t number, const Visit& visit) const {
  return ForEachMessageField(message, [&](const MessageField& field) {
    if (!field.Is(number, WireType::kBytes)) {
      return true;
    }
    XStat stat;
    if (!ReadStat(field.bytes, stat)) {
      return false;
    }
    if (stat.name != XStatName::kOther) {
      visit(stat);
    }
    return true;
  });
}

}  // namespace reprise::pytorch
