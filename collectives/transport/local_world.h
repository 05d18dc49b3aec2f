// What the ranks of a local run share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/transport/local_compute.h"
#include "collectives/transport/mailbox.h"

namespace reprise {

// One collective, or one send with its recv, on its way. Members arrive; the last one moves the
// data on its own thread.
struct LocalSlot {
  struct Arrival {
    CommSpec spec;
    LocalMember member;
    bool here = false;
  };
  std::vector<Arrival> arrivals;  // by group rank; of a pair: sender, receiver
  int missing = 0;
  bool abandoned = false;        // a member dropped its transfer: its buffers may be gone
  std::optional<Error> failure;  // set before `done`
  std::atomic<bool> done{false};
};

struct LocalGroup {
  std::vector<std::int32_t> ranks;
  std::vector<std::uint64_t> next;  // per member: number of its next collective
  std::map<std::uint64_t, std::shared_ptr<LocalSlot>> open;
  // (source, destination): sends or recvs that wait for their counterpart, oldest first.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<LocalSlot>>> pairs;
  std::shared_ptr<Mailbox> messages;  // of positions in the group
};

struct LocalWorld {
  explicit LocalWorld(int world_size)
      : size(world_size),
        nodes(static_cast<std::size_t>(world_size), 0),
        created(static_cast<std::size_t>(world_size), 0),
        notes(static_cast<std::size_t>(world_size)) {}

  const int size;
  const std::vector<std::int32_t> nodes;  // all on one host
  std::mutex mutex;  // guards everything below, and every LocalGroup and LocalSlot
  std::condition_variable changed;

  std::vector<std::shared_ptr<LocalGroup>> groups;  // by order of creation
  std::vector<std::size_t> created;                 // per rank: groups it has asked for

  std::vector<std::string> gathering;  // the AllGather that is being filled
  int gathered = 0;
  std::uint64_t generation = 0;
  std::shared_ptr<const std::vector<std::string>> last_gathered;

  std::vector<std::deque<Note>> notes;  // by receiver

  std::optional<Error> abort;
  std::atomic<bool> aborted{false};  // lets Test() look without the lock
  [[nodiscard]] std::optional<Error> PollAbort() {
    if (!aborted.load(std::memory_order_acquire)) {
      return std::nullopt;
    }
    const std::lock_guard lock(mutex);
    return abort;
  }
};

// Starts transfers of one member of a group; defined in local_group.cc.
[[nodiscard]] std::unique_ptr<GroupComm> MakeLocalGroupComm(std::shared_ptr<LocalWorld> world,
                                                            std::shared_ptr<LocalGroup> group,
                                                            int group_rank);

}  // namespace reprise
