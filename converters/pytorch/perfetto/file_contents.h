// What a file of Perfetto holds beside PyTorch's events: for a refusal that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace reprise::pytorch {

// Not thread-safe. Memory: kMost names of at most kLongest bytes, and a number by kind of packet.
class FileContents {
 public:
  static constexpr std::size_t kMost = 32, kLongest = 80;
  void AddTrack(std::string_view name);
  // A packet with this field of TracePacket.
  void AddPacket(std::uint32_t field) { ++packets_[field]; }
  // `,"tracks":{"Renderer":1},"packets":{"ftrace_events":12}`: members of a JSON object; empty if
  // there is nothing. Tracks beyond kMost are left out.
  [[nodiscard]] std::string AsMembers() const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> tracks_;  // how many have the name
  std::map<std::uint32_t, std::uint64_t> packets_;
};

}  // namespace reprise::pytorch
