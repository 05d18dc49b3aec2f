#include "cli/runs/prometheus_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "core/text.h"

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
    if (address.host.starts_with('[') && address.host.ends_with(']')) {  // [::1]:9400
      address.host = address.host.substr(1, address.host.size() - 2);
    }
  }
  address.port = ParseNumber<decltype(address.port)>(port).value_or(-1);
  if (address.port < 0 || address.port > 65'535 || address.host.empty()) {
    return UsageError(fmt::format(
        "--prometheus: '{}' is neither PORT nor ADDRESS:PORT (9400, 0.0.0.0:9400, [::1]:9400)",
        where));
  }
  return address;
}

}  // namespace

// A scraper sends a few hundred bytes and is done within milliseconds.
constexpr int kMaxHeaderBytes = 8 << 10;
constexpr int kMaxBodyBytes = 4 << 10;
constexpr int kIdleSeconds = 5;
// Connections accepted in kIdleSeconds: idle ones are closed after that time, so no more are open.
constexpr std::size_t kMaxConnections = 64;

// One thread answers one scraper after the other; all of libevent is called from there, but for the
// setting up before it starts and the byte that ends it.
struct PrometheusServer::Impl {
  template <typename T>
  using Owned = std::unique_ptr<T, void (*)(T*)>;

  std::function<std::string()> text;
  std::array<int, 2> end_pipe = {-1, -1};  // readable once the thread shall end
  Owned<event_base> base{event_base_new(), event_base_free};
  Owned<event> ended{nullptr, event_free};
  Owned<event> accept_again{nullptr, event_free};
  Owned<evhttp> server{nullptr, evhttp_free};
  evconnlistener* listener = nullptr;  // the server's
  std::size_t accepted = 0;            // since accept_again last ran
  std::string url;
  std::thread thread;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (thread.joinable()) {
      const char any = 0;
      (void)!write(end_pipe[1], &any, 1);
      thread.join();
    }
    for (const int descriptor : end_pipe) {
      if (descriptor >= 0) {
        close(descriptor);
      }
    }
  }

  // The port that it listens on; nothing if it can't.
  std::optional<int> Listen(const Address& address) {
    if (!base || pipe2(end_pipe.data(), O_CLOEXEC) != 0) {
      return std::nullopt;
    }
    ended.reset(event_new(
        base.get(), end_pipe[0], EV_READ,
        [](int, short, void* of) { event_base_loopbreak(static_cast<event_base*>(of)); },
        base.get()));
    server.reset(evhttp_new(base.get()));
    if (!ended || event_add(ended.get(), nullptr) != 0 || !server) {
      return std::nullopt;
    }
    evhttp_set_max_headers_size(server.get(), kMaxHeaderBytes);
    evhttp_set_max_body_size(server.get(), kMaxBodyBytes);
    evhttp_set_timeout(server.get(), kIdleSeconds);
    evhttp_set_bevcb(server.get(), Accept, this);
    accept_again.reset(event_new(base.get(), -1, 0, AcceptAgain, this));
    evhttp_set_allowed_methods(server.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    if (evhttp_set_cb(server.get(), "/metrics", Answer, this) != 0) {
      return std::nullopt;
    }
    evhttp_bound_socket* const socket = evhttp_bind_socket_with_handle(
        server.get(), address.host.c_str(), static_cast<std::uint16_t>(address.port));
    if (socket == nullptr || !accept_again) {
      return std::nullopt;
    }
    listener = evhttp_bound_socket_get_listener(socket);
    return PortOf(evhttp_bound_socket_get_fd(socket));
  }

  // Further connections wait in the kernel's queue, where they take no descriptor of ours.
  static bufferevent* Accept(event_base* base, void* of) {
    auto* const self = static_cast<Impl*>(of);
    if (self->accepted++ == 0) {
      const timeval pause{kIdleSeconds + 1, 0};
      event_add(self->accept_again.get(), &pause);
    }
    if (self->accepted >= kMaxConnections) {
      evconnlistener_disable(self->listener);
    }
    return bufferevent_socket_new(base, -1, 0);
  }

  static void AcceptAgain(evutil_socket_t /*descriptor*/, short /*what*/, void* of) {
    auto* const self = static_cast<Impl*>(of);
    self->accepted = 0;
    evconnlistener_enable(self->listener);
  }

  static std::optional<int> PortOf(int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return std::nullopt;
    }
    return ntohs(address.ss_family == AF_INET6
                     ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                     : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }

  static void Answer(evhttp_request* request, void* of) {
    const std::string text = static_cast<const Impl*>(of)->text();
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                      "text/plain; version=0.0.4; charset=utf-8");
    evhttp_add_header(evhttp_request_get_output_headers(request), "Connection", "close");
    evbuffer_add(evhttp_request_get_output_buffer(request), text.data(), text.size());
    evhttp_send_reply(request, HTTP_OK, "OK", nullptr);
  }
};

PrometheusServer::PrometheusServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PrometheusServer::~PrometheusServer() = default;

Result<std::unique_ptr<PrometheusServer>> PrometheusServer::Start(
    const std::string& where, std::function<std::string()> text) {
  REPRISE_ASSIGN(const Address address, ParseAddress(where));
  auto impl = std::make_unique<Impl>();
  impl->text = std::move(text);
  const std::optional<int> port = impl->Listen(address);
  if (!port) {
    return EnvironmentError(fmt::format(
        "--prometheus {}: cannot listen there: the port is taken or the address is not this host's",
        where));
  }
  const bool six = address.host.find(':') != std::string::npos;
  impl->url =
      fmt::format("http://{}:{}/metrics", six ? "[" + address.host + "]" : address.host, *port);
  impl->thread = std::thread([base = impl->base.get()] { event_base_dispatch(base); });
  return std::unique_ptr<PrometheusServer>(new PrometheusServer(std::move(impl)));
}

const std::string& PrometheusServer::url() const { return impl_->url; }

}  // namespace reprise
