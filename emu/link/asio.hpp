// SPDX-License-Identifier: Apache-2.0
// What the link takes from Boost.Asio. Coroutines of clang 14 work with the C++ library of GCC, but
// are announced under their former name, so neither that library nor Asio believes in them.
#pragma once

#if defined(__clang__) && __clang_major__ < 15
#define __cpp_impl_coroutine 201902L
#define BOOST_ASIO_HAS_CO_AWAIT
#define BOOST_ASIO_HAS_STD_COROUTINE
#endif

#include <utility>  // Boost 1.74's coroutines need it and do not say so

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
