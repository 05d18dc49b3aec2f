// Other people's libraries beside which the kernels are measured. Opened at run time, so that
// nothing here needs them; one that is not installed is a line in the output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

class Peer {
 public:
  virtual ~Peer() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "CLBlast"
  // "1.5.3", and what the library says of itself; empty if it says nothing.
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual bool Supports(const OpCall& call) const = 0;
  // The same call by the peer, for streams of the device that the peer was opened for. Does not
  // outlive the peer or the buffers. `call` must be supported.
  [[nodiscard]] virtual Result<std::unique_ptr<PreparedLaunch>> Prepare(
      const OpCall& call, const Bindings& memory) const = 0;
};

struct Peers {
  std::vector<std::unique_ptr<Peer>> here;
  std::vector<std::string> absent;  // "CLBlast: libclblast.so.1: cannot open shared object file"

  // A peer that was opened, or why it was not.
  void Add(Result<std::unique_ptr<Peer>> peer);
};

}  // namespace reprise
