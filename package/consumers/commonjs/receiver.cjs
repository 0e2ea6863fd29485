const { createServer } = require('node:http');
const { text } = require('node:stream/consumers');
const { verifyWebhook } = require('posthaste/verify');

/** @param {string} secret */
exports.receiver = (secret) =>
  createServer(async (request, response) => {
    try {
      verifyWebhook(await text(request), request.headers, secret);
      response.writeHead(204).end();
    } catch {
      response.writeHead(401).end();
    }
  });
