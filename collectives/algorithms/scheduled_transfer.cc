#include "collectives/algorithms/scheduled_transfer.h"

#include <algorithm>
#include <cstring>

#include "collectives/host_reduction.h"
#include "collectives/layout.h"

namespace reprise {

ScheduledTransfer::ScheduledTransfer(GroupComm& messages, const Algorithm& algorithm, Slices slices,
                                     const CommSpec& spec, std::span<const std::byte> in,
                                     std::span<std::byte> out, int channels, int first_tag)
    : messages_(messages),
      algorithm_(algorithm),
      slices_(std::move(slices)),
      dtype_(spec.dtype),
      op_(IsReduction(spec.kind) ? spec.op : ReduceOp::kSum),
      in_(in),
      out_(out) {
  const auto count = std::min<std::int64_t>(channels, slices_.count());
  channels_.resize(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < count; ++c) {
    Channel& channel = channels_[static_cast<std::size_t>(c)];
    channel.tag = first_tag + static_cast<int>(c);
    channel.next_lane = c;
  }
}

ScheduledTransfer::~ScheduledTransfer() {
  if (!done_) {
    for (Channel& channel : channels_) {
      // An abort: the transport may still write here until the process ends.
      static_cast<void>(channel.scratch.release());
    }
  }
}

std::byte* ScheduledTransfer::At(const Channel& channel, Ref ref) const {
  switch (ref.area) {
    case Area::kIn:
      // Algorithms only read it.
      return const_cast<std::byte*>(in_.data()) + ref.offset;
    case Area::kOut:
      return out_.data() + ref.offset;
    case Area::kScratch:
      break;
  }
  return channel.scratch.get() + ref.offset;
}

Status ScheduledTransfer::BeginLane(Channel& channel) {
  LaneShape shape = slices_.Shape(channel.next_lane);
  shape.in_place = Overlap(in_, out_);
  channel.lane = algorithm_.Plan(shape);
  channel.next_lane += static_cast<std::int64_t>(channels_.size());
  channel.round = 0;
  if (channel.scratch_bytes < channel.lane.scratch_bytes()) {
    channel.scratch_bytes = channel.lane.scratch_bytes();
    channel.scratch = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(channel.scratch_bytes));
  }
  return StartRound(channel);
}

Status ScheduledTransfer::StartRound(Channel& channel) {
  const Round& round = channel.lane.rounds()[channel.round];
  // Receives first: what arrives early then has a place to go.
  for (const LaneAction::Kind kind : {LaneAction::Kind::kRecv, LaneAction::Kind::kSend}) {
    for (const LaneAction& action : round.messages) {
      if (action.kind != kind) {
        continue;
      }
      const auto bytes = static_cast<std::size_t>(action.bytes);
      const bool sends = kind == LaneAction::Kind::kSend;
      std::byte* const at = At(channel, sends ? action.from : action.to);
      auto message = sends ? messages_.Send(action.peer, channel.tag, {at, bytes})
                           : messages_.Recv(action.peer, channel.tag, {at, bytes});
      if (!message) {
        return tl::unexpected<Error>(message.error());
      }
      channel.messages.push_back(std::move(*message));
    }
  }
  return {};
}

void ScheduledTransfer::FinishRound(Channel& channel) {
  for (const LaneAction& action : channel.lane.rounds()[channel.round].local) {
    const auto bytes = static_cast<std::size_t>(action.bytes);
    std::byte* const from = At(channel, action.from);
    std::byte* const to = At(channel, action.to);
    if (action.kind == LaneAction::Kind::kReduce) {
      ReduceInto(dtype_, op_, {from, bytes}, {to, bytes});
    } else if (from != to) {
      std::memcpy(to, from, bytes);
    }
  }
  ++channel.round;
}

Status ScheduledTransfer::Advance(Channel& channel) {
  while (true) {
    for (std::size_t i = 0; i < channel.messages.size();) {
      REPRISE_ASSIGN(const bool over, channel.messages[i]->Test());
      if (over) {
        channel.messages[i] = std::move(channel.messages.back());
        channel.messages.pop_back();
      } else {
        ++i;
      }
    }
    if (!channel.messages.empty()) {
      return {};
    }
    if (channel.round < channel.lane.rounds().size()) {
      FinishRound(channel);
    }
    if (channel.round < channel.lane.rounds().size()) {
      REPRISE_TRY(StartRound(channel));
    } else if (channel.next_lane < slices_.count()) {
      REPRISE_TRY(BeginLane(channel));
    } else {
      channel.done = true;
      return {};
    }
  }
}

Result<bool> ScheduledTransfer::Test() {
  if (done_) {
    return true;
  }
  bool all = true;
  for (Channel& channel : channels_) {
    if (!channel.done) {
      REPRISE_TRY(Advance(channel));
      all = all && channel.done;
    }
  }
  if (all && op_ == ReduceOp::kAvg) {
    FinishAverage(dtype_, slices_.members(), out_);
  }
  done_ = all;
  return all;
}

}  // namespace reprise
