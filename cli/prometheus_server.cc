#include "cli/prometheus_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <charconv>
#include <thread>
#include <utility>

namespace reprise {
namespace {

struct Address {
  std::string host = "127.0.0.1";
  int port = 0;
};

Result<Address> ParseAddress(const std::string& where) {
  Address address;
  std::string port = where;
  if (const std::size_t colon = where.rfind(':'); colon != std::string::npos) {
    address.host = where.substr(0, colon);
    port = where.substr(colon + 1);
  }
  const char* const end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, address.port);
  if (parsed.ec != std::errc() || parsed.ptr != end || address.port < 0 || address.port > 65'535 ||
      address.host.empty()) {
    return UsageError(fmt::format(
        "--prometheus: '{}' is neither PORT nor ADDRESS:PORT (9400, 0.0.0.0:9400)", where));
  }
  return address;
}

}  // namespace

struct PrometheusServer::Impl {
  httplib::Server server;
  std::string url;
  std::thread thread;
};

PrometheusServer::PrometheusServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PrometheusServer::~PrometheusServer() {
  impl_->server.stop();
  impl_->thread.join();
}

Result<std::unique_ptr<PrometheusServer>> PrometheusServer::Start(
    const std::string& where, std::function<std::string()> text) {
  REPRISE_ASSIGN(Address address, ParseAddress(where));
  auto impl = std::make_unique<Impl>();
  // Two scrapers at once are enough for anybody; more would disturb what is measured.
  impl->server.new_task_queue = [] { return new httplib::ThreadPool(2); };
  impl->server.Get("/metrics", [text = std::move(text)](const auto&, httplib::Response& response) {
    response.set_content(text(), "text/plain; version=0.0.4; charset=utf-8");
  });
  if (address.port == 0) {
    address.port = impl->server.bind_to_any_port(address.host);
  } else if (!impl->server.bind_to_port(address.host, address.port)) {
    address.port = -1;
  }
  if (address.port < 0) {
    return EnvironmentError(fmt::format(
        "--prometheus {}: cannot listen there: the port is taken or the address is not this host's",
        where));
  }
  impl->url = fmt::format("http://{}:{}/metrics", address.host, address.port);
  impl->thread = std::thread([server = &impl->server] { server->listen_after_bind(); });
  while (!impl->server.is_running()) {
    std::this_thread::yield();
  }
  return std::unique_ptr<PrometheusServer>(new PrometheusServer(std::move(impl)));
}

const std::string& PrometheusServer::url() const { return impl_->url; }

}  // namespace reprise
