#include "collectives/local/mailbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace reprise {

struct Mailbox::Letter {
  // Named by either side, under the mailbox's lock; unchanged once both are there.
  std::optional<std::span<const std::byte>> from;
  std::optional<std::span<std::byte>> to;
  std::mutex mutex;              // guards what follows
  bool abandoned = false;        // one side dropped its message: its memory may be gone
  std::optional<Error> failure;  // set before `done`
  std::atomic<bool> done{false};

  // Once, when both sides are there.
  void Deliver() {
    const std::lock_guard lock(mutex);
    if (abandoned) {
      failure = Error{ErrorKind::kCheckFailed, "a message's other side was dropped"};
    } else if (from->size() != to->size()) {
      failure =
          Error{ErrorKind::kCheckFailed,
                fmt::format("a message of {} bytes meets a place of {}", from->size(), to->size())};
    } else {
      std::copy(from->begin(), from->end(), to->begin());
    }
    done.store(true, std::memory_order_release);
  }
};

class Mailbox::Message final : public Transfer {
 public:
  Message(std::shared_ptr<Mailbox> box, std::shared_ptr<Letter> letter)
      : box_(std::move(box)), letter_(std::move(letter)) {}
  ~Message() override {
    const std::lock_guard lock(letter_->mutex);
    letter_->abandoned = !letter_->done;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  Result<bool> Test() override {
    if (letter_->done.load(std::memory_order_acquire)) {
      if (letter_->failure) {
        return tl::unexpected<Error>(*letter_->failure);
      }
      return true;
    }
    if (const auto why = box_->poll_abort_()) {
      return tl::unexpected<Error>(*why);
    }
    std::this_thread::yield();  // the missing rank may need this core
    return false;
  }

 private:
  std::shared_ptr<Mailbox> box_;
  std::shared_ptr<Letter> letter_;
};

std::unique_ptr<Transfer> Mailbox::Post(const Key& key,
                                        std::optional<std::span<const std::byte>> from,
                                        std::optional<std::span<std::byte>> to) {
  std::shared_ptr<Letter> letter;
  bool complete = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = waiting_.try_emplace(key).first;
    auto& letters = it->second;
    complete = !letters.empty() && (from ? letters.front()->to : letters.front()->from).has_value();
    if (complete) {
      letter = std::move(letters.front());
      letters.pop_front();
    } else {
      letter = letters.emplace_back(std::make_shared<Letter>());
    }
    if (from) {
      letter->from = from;
    } else {
      letter->to = to;
    }
    if (letters.empty()) {
      waiting_.erase(it);
    }
  }
  if (complete) {
    letter->Deliver();
  }
  return std::make_unique<Message>(shared_from_this(), std::move(letter));
}

std::unique_ptr<Transfer> Mailbox::Send(const Key& key, std::span<const std::byte> data) {
  return Post(key, data, std::nullopt);
}

std::unique_ptr<Transfer> Mailbox::Recv(const Key& key, std::span<std::byte> data) {
  return Post(key, std::nullopt, data);
}

}  // namespace reprise
