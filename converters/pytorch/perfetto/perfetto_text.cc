#include "converters/pytorch/perfetto/perfetto_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/perfetto/device_text.h"
#include "converters/pytorch/perfetto/event_text.h"
#include "converters/pytorch/perfetto/file_contents.h"
#include "converters/pytorch/perfetto/interned.h"
#include "converters/pytorch/perfetto/packets.h"
#include "converters/pytorch/perfetto/slice_pairs.h"
#include "core/clock.h"
#include "core/input_file.h"

namespace reprise::pytorch {
namespace {

using TextKind = InternedTexts::Kind;

constexpr std::string_view kMalformedPacket = "a packet is malformed";

class PerfettoText final : public TextSource {
 public:
  explicit PerfettoText(std::unique_ptr<TextSource> packets)
      : TextSource(packets->path()),
        source_(std::move(packets)),
        reader_(*source_),
        budget_(path()) {}

  Result<std::size_t> Read(char* to, std::size_t most) override {
    while (used_ == events_.text.size() && state_ != State::kDone) {
      produced_ += events_.text.size();
      events_.text.clear();
      used_ = 0;
      REPRISE_TRY(Produce());
      REPRISE_TRY(budget_.Check(produced_ + events_.text.size(), reader_.BytesUsed()));
    }
    const std::size_t size = std::min(most, events_.text.size() - used_);
    std::memcpy(to, events_.text.data() + used_, size);
    used_ += size;
    return size;
  }

 private:
  enum class State : std::uint8_t { kBegin, kPackets, kEnds, kDone };
  struct Track {
    std::uint32_t index = 0;
    std::int64_t process = 0, thread = 0;
  };
  // What one packet says beside its events.
  struct Packet {
    std::size_t at_byte = 0;
    std::optional<std::int64_t> time_ns;
    InternedTexts* texts = nullptr;
  };

  // Writes the next of the text; some at least, until the last.
  Status Produce() {
    constexpr std::size_t kBlock = 1 << 16;
    switch (state_) {
      case State::kBegin:
        events_.text = "{\"schemaVersion\":1,\"traceEvents\":[";
        state_ = State::kPackets;
        return {};
      case State::kPackets:
        while (events_.text.size() < kBlock) {
          PerfettoPacket packet;
          REPRISE_ASSIGN(const bool more, reader_.Next(packet));
          if (!more) {
            PairSlices(halves_);
            state_ = State::kEnds;
            break;
          }
          REPRISE_TRY(Convert(packet));
        }
        return {};
      case State::kEnds:
        for (; next_end_ < halves_.size() && events_.text.size() < kBlock; ++next_end_) {
          if (!halves_[next_end_].begins) {
            AddEnd(halves_[next_end_]);
          }
        }
        if (next_end_ == halves_.size()) {
          fmt::format_to(std::back_inserter(events_.text), "],\"baseTimeNanoseconds\":{}{}}}",
                         events_.base_ns.value_or(0), contents_.AsMembers());
          state_ = State::kDone;
        }
        return {};
      default:
        return {};
    }
  }

  [[nodiscard]] tl::unexpected<Error> Damaged(const Packet& packet, std::string_view what) const {
    return BadInput(fmt::format("{}: byte {} (unpacked): {}; copy or capture the file again",
                                path(), packet.at_byte, what));
  }

  Status Convert(const PerfettoPacket& read) {
    Packet packet{.at_byte = read.at_byte};
    std::uint64_t sequence = 0;
    std::uint64_t flags = 0;
    std::optional<std::uint64_t> time_ns;
    bool compressed = false;
    const bool sound = ForEachMessageField(read.bytes, [&](const MessageField& field) {
      sequence = field.Is(kSequenceId, WireType::kVarint) ? field.bits : sequence;
      flags = field.Is(kSequenceFlags, WireType::kVarint) ? field.bits : flags;
      time_ns = field.Is(kTimestamp, WireType::kVarint) ? field.bits : time_ns;
      compressed = compressed || field.number == kCompressedPackets;
      return true;
    });
    if (!sound) {
      return Damaged(packet, kMalformedPacket);
    }
    if (compressed) {
      return BadInput(fmt::format(
          "{}: byte {} (unpacked): holds compressed packets, which Perfetto's own service writes "
          "and PyTorch does not; record without compression",
          path(), packet.at_byte));
    }
    if (time_ns) {
      if (*time_ns >= static_cast<std::uint64_t>(kMaxUs * kNsPerUs)) {
        return Damaged(packet, fmt::format("{} ns is no time", *time_ns));
      }
      packet.time_ns = static_cast<std::int64_t>(*time_ns);
      events_.base_ns = events_.base_ns.value_or(*packet.time_ns);
    }
    constexpr std::size_t kMostSequences = 65'536;  // PyTorch writes one, a service one a thread
    packet.texts = &texts_[sequence];
    if (texts_.size() > kMostSequences) {
      return Damaged(packet, fmt::format("over {} sequences of packets", kMostSequences));
    }
    if ((flags & 1) != 0) {
      packet.texts->Clear();
    }
    return ConvertParts(read.bytes, packet);
  }

  Status ConvertParts(std::string_view bytes, const Packet& packet) {
    Status status;
    // Texts first: the packet's own events refer to them.
    const bool sound = ForEachMessageField(bytes,
                                           [&](const MessageField& field) {
                                             return !field.Is(kInternedData, WireType::kBytes) ||
                                                    packet.texts->Add(field.bytes);
                                           }) &&
                       ForEachMessageField(bytes, [&](const MessageField& field) {
                         if (field.type == WireType::kBytes) {
                           contents_.AddPacket(field.number);
                           status = field.number == kTrackDescriptor ? AddTrack(field.bytes, packet)
                                    : field.number == kTrackEvent    ? AddSlice(field.bytes, packet)
                                    : field.number == kGpuRenderStageEvent
                                        ? AddDevice(field.bytes, packet, &AppendDeviceEvent)
                                    : field.number == kGpuCounterEvent
                                        ? AddDevice(field.bytes, packet, &AppendCounters)
                                        : Status();
                         }
                         return status.has_value();
                       });
    return !status ? status : sound ? Status() : Damaged(packet, kMalformedPacket);
  }

  Status AddTrack(std::string_view message, const Packet& packet) {
    std::uint64_t uuid = 0;
    Track track;
    bool has_row = false;
    const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
      uuid = field.Is(kTrackUuid, WireType::kVarint) ? field.bits : uuid;
      if (field.Is(kTrackName, WireType::kBytes)) {
        contents_.AddTrack(field.bytes);
      }
      if (field.type != WireType::kBytes ||
          (field.number != kTrackProcess && field.number != kTrackThread)) {
        return true;
      }
      has_row = true;
      std::string_view name;
      const bool read = ForEachMessageField(field.bytes, [&](const MessageField& part) {
        if (part.Is(kProcessId, WireType::kVarint)) {
          track.process = static_cast<std::int32_t>(part.bits);
        } else if (part.Is(kThreadId, WireType::kVarint)) {
          track.thread = static_cast<std::int64_t>(part.bits);
        }
        const bool names_process = field.number == kTrackProcess;
        if (part.Is(names_process ? kProcessName : kThreadName, WireType::kBytes)) {
          name = part.bytes;
        }
        return true;
      });
      contents_.AddTrack(name);
      if (field.number == kTrackProcess && name == "Overhead") {
        overhead_process_ = track.process;
      }
      return read;
    });
    if (!sound) {
      return Damaged(packet, "the description of a track is malformed");
    }
    if (!has_row) {
      track.thread = static_cast<std::int64_t>(uuid);
    }
    track.index = static_cast<std::uint32_t>(tracks_.size());
    const auto [known, fresh] = tracks_.try_emplace(uuid, track);
    if (fresh) {
      rows_.emplace_back(track.process, track.thread);
    }
    return {};
  }

  void AddEnd(const SliceHalf& half) {
    events_.Begin("E");
    if (half.slice >= 0) {
      events_.AddNumber("slice", half.slice);
    }
    events_.AddRow(rows_[half.track].first, rows_[half.track].second);
    events_.AddTime(half.at_ns);
    events_.End();
  }

  Status AddSlice(std::string_view message, const Packet& packet) {
    constexpr std::uint32_t kSliceBegin = 1;
    constexpr std::uint32_t kSliceEnd = 2;
    std::uint64_t type = 0;
    std::uint64_t uuid = 0;
    std::string_view name;
    std::string_view category;
    bool synchronises = false;
    std::string_view problem;
    std::string args;
    const auto interned = [&](TextKind kind, std::uint64_t id, std::string_view& to) {
      const std::string* const text = packet.texts->Find(kind, id);
      to = text == nullptr ? std::string_view() : *text;
      problem =
          text == nullptr ? "an event refers to a text that no packet before it has" : problem;
    };
    const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
      switch (field.number) {
        case 3:
          if (field.type == WireType::kVarint) {
            interned(TextKind::kCategory, field.bits, category);
          }
          return true;
        case 4: {
          args += args.empty() ? '{' : ',';
          const std::size_t at = args.size();
          const std::string_view why = AppendAnnotation(field.bytes, *packet.texts, args);
          problem = problem.empty() ? why : problem;
          synchronises =
              synchronises || std::string_view(args).substr(at).starts_with("\"cuda_sync_kind\":");
          return problem.empty();
        }
        case 9:
          type = field.bits;
          return true;
        case 10:
          interned(TextKind::kName, field.bits, name);
          return true;
        case 11:
          uuid = field.bits;
          return true;
        case 22:
          category = field.bytes;
          return true;
        case 23:
          name = field.bytes;
          return true;
        default:
          return true;
      }
    });
    if (!sound || !problem.empty()) {
      return Damaged(packet, problem.empty() ? kMalformedPacket : problem);
    }
    if (type != kSliceBegin && type != kSliceEnd) {
      return {};
    }
    const auto track = tracks_.find(uuid);
    if (track == tracks_.end()) {
      return Damaged(packet, fmt::format("no packet before describes track {}", uuid));
    }
    if (!packet.time_ns) {
      return Damaged(packet, "an event has no time");
    }
    const bool begins = type == kSliceBegin;
    halves_.push_back({.at_ns = *packet.time_ns,
                       .slice = begins ? next_slice_ : -1,
                       .track = track->second.index,
                       .begins = begins});
    if (!begins) {
      return {};
    }
    if (category.empty()) {  // PyTorch gives these none
      category = synchronises                                 ? "cuda_sync"
                 : track->second.process == overhead_process_ ? "overhead"
                                                              : "";
    }
    events_.Begin("B");
    events_.AddNumber("slice", next_slice_++);
    events_.AddText("cat", category);
    events_.AddText("name", name);
    events_.AddRow(track->second.process, track->second.thread);
    events_.AddTime(*packet.time_ns);
    if (!args.empty()) {
      events_.AddArguments(args + "}");
    }
    events_.End();
    return {};
  }

  // Of work on a GPU, or of counters: what `append` makes of the message.
  Status AddDevice(std::string_view message, const Packet& packet,
                   std::string_view (*append)(std::string_view, const InternedTexts&, std::int64_t,
                                              EventList&)) {
    if (!packet.time_ns) {
      return Damaged(packet, "an event has no time");
    }
    const std::string_view problem = append(message, *packet.texts, *packet.time_ns, events_);
    return problem.empty() ? Status() : Damaged(packet, problem);
  }

  std::unique_ptr<TextSource> source_;
  PacketReader reader_;
  ExpansionBudget budget_;
  State state_ = State::kBegin;
  EventList events_;  // of which `used_` bytes were taken
  std::size_t used_ = 0;
  std::uint64_t produced_ = 0;                    // bytes of text before it
  std::map<std::uint64_t, InternedTexts> texts_;  // by sequence of packets
  std::unordered_map<std::uint64_t, Track> tracks_;
  std::vector<std::pair<std::int64_t, std::int64_t>> rows_;  // process and thread, by track
  std::optional<std::int64_t> overhead_process_;
  FileContents contents_;
  std::vector<SliceHalf> halves_;
  std::int64_t next_slice_ = 0;
  std::size_t next_end_ = 0;
};

}  // namespace

std::unique_ptr<TextSource> PerfettoAsJson(std::unique_ptr<TextSource> packets) {
  return std::make_unique<PerfettoText>(std::move(packets));
}

}  // namespace reprise::pytorch
