#include "converters/pytorch/perfetto/file_contents.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/utf8.h"

namespace reprise::pytorch {
namespace {

// Fields of TracePacket by which other programs' files are known.
constexpr std::pair<std::uint32_t, std::string_view> kPacketNames[] = {
    {1, "ftrace_events"}, {2, "process_tree"},  {5, "chrome_events"},
    {7, "sys_stats"},     {9, "process_stats"}, {37, "profile_packet"},
    {39, "android_log"},  {56, "heap_graph"},   {66, "perf_sample"}};

}  // namespace

void FileContents::AddTrack(std::string_view name) {
  const std::string_view start = name.substr(0, kLongest);
  const auto known = tracks_.find(start);
  if (known != tracks_.end()) {
    ++known->second;
  } else if (!start.empty() && tracks_.size() < kMost) {
    tracks_.emplace(start, 1);
  }
}

std::string FileContents::AsMembers() const {
  nlohmann::json packets = nlohmann::json::object();
  for (const auto& [field, name] : kPacketNames) {
    if (const auto found = packets_.find(field); found != packets_.end()) {
      packets[std::string(name)] = found->second;
    }
  }
  nlohmann::json tracks = nlohmann::json::object();
  for (const auto& [name, count] : tracks_) {
    tracks[ReplaceInvalidUtf8(name)] = count;
  }
  return (tracks.empty() ? "" : ",\"tracks\":" + tracks.dump()) +
         (packets.empty() ? "" : ",\"packets\":" + packets.dump());
}

}  // namespace reprise::pytorch
