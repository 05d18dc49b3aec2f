// Any bytes as the calls of a host trace and of a Kineto trace, over the full range of times that a
// Kineto file can have: linking by the order of calls ends, and links calls of one name only.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "converters/pytorch/alignment/link_by_alignment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace pytorch = reprise::pytorch;
  static const std::vector<std::string> kNames = {"a", "b", "c", "d", "e", "f", "g", "h"};
  constexpr std::int64_t kMaxNs = std::int64_t{1} << 61;  // a base and an offset, each below this
  constexpr std::size_t kRecordBytes = 2 + 2 * sizeof(std::int64_t);
  constexpr std::size_t kMaxRecords = 400;
  pytorch::HostTrace host;
  pytorch::KinetoTrace kineto;
  for (; size >= kRecordBytes && host.nodes.size() + kineto.events.size() < kMaxRecords;
       data += kRecordBytes, size -= kRecordBytes) {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::memcpy(&a, data + 2, sizeof(a));
    std::memcpy(&b, data + 2 + sizeof(a), sizeof(b));
    const std::string* name = &kNames[data[0] % kNames.size()];
    const std::int64_t thread = data[1] % 3;
    if ((data[0] & 0x80U) != 0) {
      pytorch::HostNode& node = host.nodes.emplace_back();
      node.id = host.nodes.size();
      node.rf_id = a;
      node.seq_id = b;
      node.thread = thread;
      node.name = name;
    } else {
      pytorch::KinetoEvent& event = kineto.events.emplace_back();
      event.name = name;
      event.thread = thread;
      event.start_ns = a % kMaxNs;
      event.end_ns = std::max(event.start_ns, b % kMaxNs);
      event.seq_id = data[1] / 4;
      event.ev_idx = (data[1] & 0x80U) != 0 ? a : -1;
      event.annotation = (data[0] & 0x40U) != 0;
    }
  }
  host.highest_id = host.nodes.size();
  for (const auto choice : {reprise::RepeatChoice::kRecorded, reprise::RepeatChoice::kMedian}) {
    const auto linked = pytorch::LinkByAlignment(host, kineto, choice, "fuzz");
    if (!linked) {
      continue;
    }
    for (std::size_t i = 0; i < linked->host_of_event.size(); ++i) {
      const std::int32_t node = linked->host_of_event[i];
      if (node >= 0 && host.nodes[static_cast<std::size_t>(node)].name != kineto.events[i].name) {
        std::abort();
      }
    }
  }
  return 0;
}
