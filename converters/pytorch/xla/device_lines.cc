#include "converters/pytorch/xla/device_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kAsyncStreams = 1'000;

// "jit_step(123)" → "jit_step".
std::string_view WithoutFingerprint(std::string_view module) {
  const std::size_t open = module.rfind('(');
  return module.ends_with(')') && open != std::string_view::npos ? module.substr(0, open) : module;
}

// By which its beginning and its end know each other.
std::string_view StartOf(const OperationFacts& facts) {
  return facts.start.empty() ? facts.name : facts.start;
}

}  // namespace

DeviceLines::DeviceLines(const XlaProfile& profile, XlaDevice device, DeviceRanks ranks,
                         EventList& events, XlaCounts& counts)
    : profile_(profile),
      device_(device),
      counts_(counts),
      operations_(profile, device, std::move(ranks), events, counts) {
  streams_ = !device.on_host && std::ranges::any_of(plane().lines, [](const XLineInfo& line) {
    return line.events > 0 && IsStreamLine(line.name);
  });
}

DeviceLines::LineKind DeviceLines::KindOf(const XLineInfo& line) const {
  if (device_.on_host) {
    return LineKind::kOperations;
  }
  if (streams_) {
    return IsStreamLine(line.name) ? LineKind::kStream : LineKind::kOther;
  }
  return IsOperationsLine(line.name)  ? LineKind::kOperations
         : IsAsyncLine(line.name)     ? LineKind::kAsync
         : line.name == "Steps"       ? LineKind::kSteps
         : line.name == "XLA Modules" ? LineKind::kModules
                                      : LineKind::kOther;
}

Status DeviceLines::ReadTimes(const XSpaceReader& reader, const XSpaceField& field,
                              std::optional<XEvent>& out) const {
  const XLineInfo& line = plane().lines[static_cast<std::size_t>(reader.line())];
  XEvent event;
  bool aggregated = false;
  if (!ReadXEvent(field.field.bytes, line, event, aggregated)) {
    return reader.Damaged(field.at_byte, "an event is malformed, or has a time that can't be");
  }
  out = aggregated ? std::nullopt : std::optional(event);
  return {};
}

bool DeviceLines::IsOwn(std::string_view message) const {
  if (!device_.on_host) {
    return true;
  }
  bool own = false;
  bool operation = false;
  static_cast<void>(plane().ForEachStat(message, kXEventStats, [&](const XStat& stat) {
    own = own || (stat.name == XStatName::kDeviceOrdinal && stat.number == device_.ordinal);
    operation = operation || stat.name == XStatName::kHloOp;
  }));
  return own && operation;
}

Status DeviceLines::Note(const XSpaceReader& reader, const XSpaceField& field) {
  const LineKind kind = KindOf(plane().lines[static_cast<std::size_t>(reader.line())]);
  if (kind != LineKind::kOperations && kind != LineKind::kAsync) {
    return {};
  }
  std::optional<XEvent> event;
  REPRISE_TRY(ReadTimes(reader, field, event));
  OperationFacts facts;
  if (!event || !IsOwn(field.field.bytes)) {
    return {};
  }
  if (!ReadFacts(plane(), field.field.bytes, event->metadata, facts)) {
    return reader.Damaged(field.at_byte, "an event, or what it refers to, is malformed");
  }
  if (kind == LineKind::kAsync) {
    runs_.Own(StartOf(facts), event->start_ns);
  } else if (facts.opcode.part == HloPart::kStart) {
    runs_.Begin(StartOf(facts), event->start_ns);
  } else if (facts.opcode.part == HloPart::kDone) {
    runs_.Done(StartOf(facts), event->start_ns, event->end_ns);
  }
  return {};
}

Status DeviceLines::Add(const XSpaceReader& reader, const XSpaceField& field) {
  const XLineInfo& line = plane().lines[static_cast<std::size_t>(reader.line())];
  const LineKind kind = KindOf(line);
  if (kind == LineKind::kOther) {
    ++counts_["xla_event_left_out"];
    return {};
  }
  std::optional<XEvent> event;
  REPRISE_TRY(ReadTimes(reader, field, event));
  if (!event || !IsOwn(field.field.bytes)) {
    return {};
  }
  OperationFacts facts;
  if (!ReadFacts(plane(), field.field.bytes, event->metadata, facts)) {
    return reader.Damaged(field.at_byte, "an event, or what it refers to, is malformed");
  }
  const OperationPlace place{
      .start_ns = event->start_ns, .end_ns = event->end_ns, .stream = line.id};
  switch (kind) {
    case LineKind::kStream: {
      if (facts.correlation > 0) {
        correlations_.insert(facts.correlation);
      }
      OperationPlace waiting = place;
      waiting.after = std::exchange(waits_, {});
      if (const std::int64_t second = operations_.Add(facts, waiting, true); second >= 0) {
        waits_.push_back(second);
      }
      return {};
    }
    case LineKind::kAsync:
      AddAsync(facts, place);
      return {};
    case LineKind::kSteps:
      steps_.push_back({std::string(facts.name), event->start_ns, event->end_ns});
      return {};
    case LineKind::kModules:
      modules_.push_back(
          {std::string(WithoutFingerprint(facts.name)), event->start_ns, event->end_ns});
      return {};
    default:
      break;
  }
  if (pending_ && event->start_ns >= pending_->event.start_ns &&
      event->end_ns <= pending_->event.end_ns && event->start_ns < pending_->event.end_ns) {
    ++counts_["xla_enclosing_event"];
    pending_.reset();
  }
  AddPending();
  pending_ = {std::string(field.field.bytes), *event, reader.line()};
  return {};
}

void DeviceLines::EndLine() {
  AddPending();
  last_item_ = -1;
  waits_.clear();
}

void DeviceLines::AddPending() {
  if (!pending_) {
    return;
  }
  const Pending pending = std::exchange(pending_, std::nullopt).value();
  OperationFacts facts;
  static_cast<void>(ReadFacts(plane(), pending.message, pending.event.metadata, facts));
  const XLineInfo& line = plane().lines[static_cast<std::size_t>(pending.line)];
  AddOperation(facts, {.start_ns = pending.event.start_ns,
                       .end_ns = pending.event.end_ns,
                       .stream = device_.on_host ? pending.line + 1 : line.id});
}

// Of operations beside others: the first row that is free.
std::int64_t DeviceLines::Lane(std::int64_t start_ns, std::int64_t end_ns) {
  constexpr std::size_t kMostLanes = 4'096;
  auto lane = std::ranges::find_if(
      lanes_, [start_ns](std::int64_t lane_end_ns) { return lane_end_ns <= start_ns; });
  if (lane == lanes_.end()) {
    if (lanes_.size() < kMostLanes) {
      lanes_.push_back(end_ns);
    }
    lane = lanes_.end() - 1;
  }
  *lane = std::max(*lane, end_ns);
  return kAsyncStreams + (lane - lanes_.begin());
}

void DeviceLines::AddOperation(const OperationFacts& facts, OperationPlace place) {
  if (facts.opcode.part == HloPart::kDone) {
    if (AsyncRun* const run = runs_.ThatIsAwaited(StartOf(facts), place.start_ns)) {
      waits_.push_back(run->item);
      if (run->second >= 0) {
        waits_.push_back(run->second);
      }
      ++counts_["xla_wait_event"];
      return;
    }
    ++counts_["xla_async_unpaired"];
  }
  place.item = operations_.NextItem();
  bool moves = true;
  if (facts.opcode.part == HloPart::kStart) {
    AsyncRun* const run = runs_.ThatBegins(StartOf(facts), place.start_ns);
    if (run == nullptr) {
      ++counts_["xla_async_unpaired"];
    } else if (run->alone) {
      run->before = last_item_;
      moves = false;  // what it moves is on a line of its own
    } else {
      OperationPlace whole{.start_ns = place.start_ns,
                           .end_ns = run->end_ns,
                           .stream = Lane(place.start_ns, run->end_ns),
                           .item = run->item,
                           .after = waits_};
      if (last_item_ >= 0) {
        whole.after.push_back(last_item_);
      }
      run->second = operations_.Add(facts, whole, true);
      return;
    }
  }
  place.after = std::exchange(waits_, {});
  last_item_ = place.item;
  if (const std::int64_t second = operations_.Add(facts, place, moves); second >= 0) {
    waits_.push_back(second);
  }
}

void DeviceLines::AddAsync(const OperationFacts& facts, OperationPlace place) {
  AsyncRun* const run = runs_.ThatOwns(StartOf(facts), place.start_ns);
  if (run != nullptr) {
    place.item = run->item;
    if (run->before >= 0) {
      place.after = {run->before};
    }
  } else {
    ++counts_["xla_async_unpaired"];
  }
  place.stream = Lane(place.start_ns, place.end_ns);
  const std::int64_t second = operations_.Add(facts, place, true);
  if (run != nullptr) {
    run->second = second;
  }
}

}  // namespace reprise::pytorch
