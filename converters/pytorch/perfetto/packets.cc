#include "converters/pytorch/perfetto/packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/input_file.h"

namespace reprise::pytorch {
namespace {

constexpr char kPacketTag = '\x0a';        // field 1 of Trace, with a length
constexpr std::size_t kLongestLength = 5;  // bytes; more are 32 GiB

// The length behind a packet's tag; `size`: bytes of the length itself. Nothing: it is none, or is
// not all there.
std::optional<std::uint64_t> LengthIn(std::string_view bytes, std::size_t& size) {
  std::uint64_t length = 0;
  for (size = 0; size < std::min(bytes.size(), kLongestLength); ++size) {
    const auto byte = static_cast<unsigned char>(bytes[size]);
    length |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * size);
    if (byte < 0x80) {
      ++size;
      return length;
    }
  }
  return std::nullopt;
}

// A whole packet of which every field that is known here has its type, one at least.
bool IsPacket(std::string_view bytes) {
  bool known = false;
  return ForEachMessageField(bytes,
                             [&known](const MessageField& field) {
                               switch (field.number) {
                                 case kTimestamp:
                                 case kSequenceId:
                                 case kSequenceFlags:
                                   known = true;
                                   return field.type == WireType::kVarint;
                                 case kClockSnapshot:
                                 case kTrackEvent:
                                 case kInternedData:
                                 case kTrackDescriptor:
                                   known = true;
                                   return field.type == WireType::kBytes;
                                 default:
                                   return true;
                               }
                             }) &&
         known;
}

void Learn(std::string_view packet, PerfettoHead& head) {
  std::optional<std::uint64_t> time_ns;
  bool event = false;
  (void)ForEachMessageField(packet, [&](const MessageField& field) {
    if (field.Is(kTimestamp, WireType::kVarint)) {
      time_ns = field.bits;
    }
    event = event || field.number == kTrackEvent || field.number == kGpuRenderStageEvent;
    if (!field.Is(kTrackDescriptor, WireType::kBytes)) {
      return true;
    }
    return ForEachMessageField(field.bytes, [&](const MessageField& track) {
      return !track.Is(kTrackThread, WireType::kBytes) ||
             ForEachMessageField(track.bytes, [&](const MessageField& thread) {
               if (head.process < 0 && thread.Is(kProcessId, WireType::kVarint)) {
                 head.process = static_cast<std::int32_t>(thread.bits);
               }
               return true;
             });
    });
  });
  if (event && head.start_ns < 0 && time_ns && *time_ns <= INT64_MAX) {
    head.start_ns = static_cast<std::int64_t>(*time_ns);
  }
}

}  // namespace

Status PacketReader::Fill(std::size_t least) {
  constexpr std::size_t kBlock = 1 << 20;
  while (end_ - begin_ < least && !at_end_) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // A packet that says it is long costs memory as its bytes come.
    if (buffer_.size() < end_ + kBlock) {
      buffer_.resize(std::max(end_ + kBlock, std::min(least, 2 * end_)));
    }
    REPRISE_ASSIGN(const std::size_t got,
                   source_.Read(buffer_.data() + end_, buffer_.size() - end_));
    end_ += got;
    at_end_ = got == 0;
  }
  return {};
}

Result<bool> PacketReader::Next(PerfettoPacket& packet) {
  REPRISE_TRY(Fill(1 + kLongestLength));
  if (begin_ == end_) {
    return false;
  }
  const auto damaged = [&](std::string_view what) {
    return BadInput(fmt::format("{}: byte {} (unpacked): {}; copy or capture the file again",
                                source_.path(), at_byte_, what));
  };
  const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
  std::size_t length_bytes = 0;
  const auto length = LengthIn(rest.substr(1), length_bytes);
  if (rest.front() != kPacketTag || !length) {
    return damaged("a packet of Perfetto's trace format was expected");
  }
  if (*length > CurrentInputLimits().string_bytes) {
    return OverLimit(source_.path(),
                     fmt::format("byte {} (unpacked): a packet of {} bytes", at_byte_, *length),
                     "string_bytes");
  }
  const std::size_t head = 1 + length_bytes;
  const std::size_t all = head + static_cast<std::size_t>(*length);
  REPRISE_TRY(Fill(all));
  if (end_ - begin_ < all) {
    return damaged(fmt::format("the file ends within a packet of {} bytes", *length));
  }
  packet = {.bytes = std::string_view(buffer_).substr(begin_ + head, *length),
            .at_byte = at_byte_ + head};
  begin_ += all;
  at_byte_ += all;
  return true;
}

std::optional<PerfettoHead> SniffPerfetto(std::string_view head) {
  std::optional<PerfettoHead> out;
  while (head.starts_with(kPacketTag)) {
    std::size_t length_bytes = 0;
    const auto length = LengthIn(head.substr(1), length_bytes);
    if (!length || *length > head.size() - 1 - length_bytes) {
      break;
    }
    const std::string_view packet = head.substr(1 + length_bytes, *length);
    if (!out) {
      if (!IsPacket(packet)) {
        return std::nullopt;
      }
      out.emplace();
    }
    Learn(packet, *out);
    head.remove_prefix(1 + length_bytes + packet.size());
  }
  return out;
}

}  // namespace reprise::pytorch
