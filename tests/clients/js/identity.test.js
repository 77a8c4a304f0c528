// SPDX-License-Identifier: MIT
// Every way the official identity library gets a token for a service.
import {
  ClientAssertionCredential,
  ClientCertificateCredential,
  ClientSecretCredential,
  EnvironmentCredential,
  ManagedIdentityCredential,
  WorkloadIdentityCredential,
} from "@azure/identity";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createSign, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { admin, application, authority, clients, failure, secret, secretCredential, subscription, tenant, url } from "./cloud.js";

before(() => admin("POST", "reset"));

const works = async (credential) => {
  const found = await clients(credential).subscriptions.subscriptions.get(subscription);
  assert.equal(found.subscriptionId, subscription);
};

describe("a secret", () => {
  test("gets a token, which the manager accepts", () => works(secretCredential()));

  test("from the environment", async () => {
    process.env.AZURE_TENANT_ID = tenant;
    process.env.AZURE_CLIENT_ID = application;
    process.env.AZURE_CLIENT_SECRET = secret;
    await works(new EnvironmentCredential(authority));
  });

  for (const [name, wrong, code] of [
    ["that is wrong", { secret: "nonsense" }, 7000215],
    ["of an application unknown to the tenant", { application: "44444444-4444-4444-4444-444444444444" }, 700016],
  ]) {
    test(`${name} is refused with the code of the service`, async () => {
      const error = await failure(secretCredential(wrong).getToken(`${url}/.default`));
      assert.match(error.message, new RegExp(`\\b${code}\\b`));
    });
  }

  test("in a tenant that does not exist is refused", async () => {
    const nobody = new ClientSecretCredential("55555555-5555-5555-5555-555555555555", application, secret, authority);
    await failure(nobody.getToken(`${url}/.default`));
  });
});

describe("what proves an application without a secret", () => {
  const folder = mkdtempSync(join(tmpdir(), "identity-"));
  const pem = join(folder, "both.pem");
  const tokenFile = join(folder, "token");
  const issuer = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const issued = (subject) => {
    const now = Math.floor(Date.now() / 1000);
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { iss: "https://issuer.example", sub: subject, aud: "api://AzureADTokenExchange", iat: now, nbf: now, exp: now + 600 };
    const text = `${part({ alg: "RS256", typ: "JWT" })}.${part(claims)}`;
    return `${text}.${createSign("RSA-SHA256").update(text).sign(issuer.privateKey).toString("base64url")}`;
  };

  before(async () => {
    const key = join(folder, "key.pem");
    const certificate = join(folder, "certificate.pem");
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=agent", "-days", "2", "-keyout", key, "-out", certificate], { stdio: "ignore" });
    writeFileSync(pem, readFileSync(key, "utf-8") + readFileSync(certificate, "utf-8"));
    await admin("POST", "seed", {
      applications: [
        {
          client_id: application,
          secret,
          certificates: [readFileSync(certificate, "utf-8")],
          federated_credentials: [
            {
              issuer: "https://issuer.example",
              subject: "system:serviceaccount:site:agent",
              key: issuer.publicKey.export({ type: "spki", format: "pem" }),
            },
          ],
        },
      ],
      identities: [{ client_id: "66666666-6666-6666-6666-666666666666" }],
    });
  });

  after(() => rmSync(folder, { recursive: true }));

  test("its certificate", () => works(new ClientCertificateCredential(tenant, application, pem, authority)));

  test("its certificate with the chain in the assertion", () =>
    works(new ClientCertificateCredential(tenant, application, pem, { ...authority, sendCertificateChain: true })));

  test("a token of an issuer it trusts, from a file", async () => {
    writeFileSync(tokenFile, issued("system:serviceaccount:site:agent"));
    await works(new WorkloadIdentityCredential({ tenantId: tenant, clientId: application, tokenFilePath: tokenFile, ...authority }));
  });

  test("but not a token for another subject", async () => {
    writeFileSync(tokenFile, issued("system:serviceaccount:site:other"));
    const credential = new WorkloadIdentityCredential({ tenantId: tenant, clientId: application, tokenFilePath: tokenFile, ...authority });
    assert.match((await failure(credential.getToken(`${url}/.default`))).message, /700213|70021/);
  });

  test("the identity of the machine it runs on", async () => {
    process.env.AZURE_POD_IDENTITY_AUTHORITY_HOST = url;
    await works(new ManagedIdentityCredential());
    await works(new ManagedIdentityCredential({ clientId: "66666666-6666-6666-6666-666666666666" }));
  });
});

test("an assertion nobody signed is refused", async () => {
  const credential = new ClientAssertionCredential(tenant, application, async () => "e30.e30.x", authority);
  await failure(credential.getToken(`${url}/.default`));
});
