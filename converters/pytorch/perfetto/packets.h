// Perfetto's trace files: packets in a row, in protobuf's wire format. Field numbers are Perfetto's
// (https://perfetto.dev/docs/reference/trace-packet-proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "converters/message_fields.h"
#include "converters/text_source.h"
#include "core/result.h"

namespace reprise::pytorch {

struct PerfettoPacket {
  std::string_view bytes;
  std::size_t at_byte = 0;  // of its first byte, in the unpacked file
};

// Reads a file packet by packet. Memory: the longest packet, and a MiB.
class PacketReader {
 public:
  explicit PacketReader(TextSource& source) : source_(source) {}

  // False: the file ended. The packet's bytes hold until the next call. Bad input names the file
  // and the byte where it stopped making sense.
  [[nodiscard]] Result<bool> Next(PerfettoPacket& packet);
  // Bytes that packets took so far.
  [[nodiscard]] std::size_t BytesUsed() const { return at_byte_; }

 private:
  // Makes at least `least` bytes available, unless the file ends before.
  Status Fill(std::size_t least);

  TextSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t at_byte_ = 0;  // of begin_, in the unpacked file
  bool at_end_ = false;
};

// What the first bytes of a file say of it.
struct PerfettoHead {
  std::int64_t process = -1;   // of the first thread; -1: not known
  std::int64_t start_ns = -1;  // of the first event; -1: not known
};
// Nothing: they are no packets of Perfetto.
[[nodiscard]] std::optional<PerfettoHead> SniffPerfetto(std::string_view head);

// Fields of TracePacket.
inline constexpr std::uint32_t kClockSnapshot = 6;
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequenceId = 10;
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kCompressedPackets = 50;
inline constexpr std::uint32_t kGpuCounterEvent = 52;
inline constexpr std::uint32_t kGpuRenderStageEvent = 53;
inline constexpr std::uint32_t kTrackDescriptor = 60;

// Of TrackDescriptor.
inline constexpr std::uint32_t kTrackUuid = 1;
inline constexpr std::uint32_t kTrackName = 2;
inline constexpr std::uint32_t kTrackProcess = 3;
inline constexpr std::uint32_t kTrackThread = 4;
// Of ProcessDescriptor and ThreadDescriptor.
inline constexpr std::uint32_t kProcessId = 1;
inline constexpr std::uint32_t kThreadId = 2;
inline constexpr std::uint32_t kProcessName = 6;
inline constexpr std::uint32_t kThreadName = 5;

}  // namespace reprise::pytorch
