const { createServer } = require('node:http');
const { text } = require('node:stream/consumers');
const { verifyWebhook } = require('posthaste/verify');

/** @param {string} secret */
exports.receiver = (secret) =>
  createServer((request, response) => {
    text(request)
      .then((body) => verifyWebhook(body, request.headers, secret))
      .then(
        () => response.writeHead(204).end(),
        () => response.writeHead(401).end(),
      );
  });
