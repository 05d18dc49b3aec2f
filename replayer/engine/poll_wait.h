// What a thread that polls does between two polls.
#pragma once

namespace reprise {

// Where cores are free, nothing: the next poll follows at once. Where other threads want this one's
// core, short sleeps: the scheduler wakes a sleeper before threads that compute, whereas one that
// yields waits until each of them has had its turn, milliseconds for every message of a transfer.
// For one thread.
class PollWait {
 public:
  // From the thread that polls: its sleeps are then not lengthened.
  static void Prepare();
  void Once();

 private:
  int sleeps_left_ = 0;
};

}  // namespace reprise
