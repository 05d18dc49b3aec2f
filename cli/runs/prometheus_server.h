// GET /metrics for Prometheus.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/result.h"

namespace reprise {

// Serves on a thread of its own until destroyed, which waits for no client. A client has a few
// seconds, however it sends and reads. Where too many are open, the oldest one is closed, so that
// slow clients keep no other from being answered.
class PrometheusServer {
 public:
  // `where`: "9400", on loopback only, or "0.0.0.0:9400", for everybody who can reach it; port 0
  // takes a free one. `text` is called for each request, from the server's thread.
  static Result<std::unique_ptr<PrometheusServer>> Start(const std::string& where,
                                                         std::function<std::string()> text);
  ~PrometheusServer();
  [[nodiscard]] const std::string& url() const;

 private:
  struct Impl;
  explicit PrometheusServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
