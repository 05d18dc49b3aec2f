// Messages between ranks that are threads of one process.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "collectives/communicator.h"

namespace reprise {

// Unbuffered: a message is over when both sides have named their memory; the second one copies.
// Thread-safe. Shared by its messages.
class Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  // `poll_abort` ends what is outstanding; from any thread.
  explicit Mailbox(std::function<std::optional<Error>()> poll_abort)
      : poll_abort_(std::move(poll_abort)) {}

  // The n-th sent with a key matches the n-th received with it.
  struct Key {
    int from = 0;
    int to = 0;
    int tag = 0;
    auto operator<=>(const Key&) const = default;
  };
  [[nodiscard]] std::unique_ptr<Transfer> Send(const Key& key, std::span<const std::byte> data);
  [[nodiscard]] std::unique_ptr<Transfer> Recv(const Key& key, std::span<std::byte> data);

 private:
  struct Letter;
  class Message;
  std::unique_ptr<Transfer> Post(const Key& key, std::optional<std::span<const std::byte>> from,
                                 std::optional<std::span<std::byte>> to);

  std::function<std::optional<Error>()> poll_abort_;
  std::mutex mutex_;
  std::map<Key, std::deque<std::shared_ptr<Letter>>> waiting_;  // of one side each
};

}  // namespace reprise
