// The page of all calls: Swagger UI over the service's own OpenAPI.

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#calls",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  validatorUrl: null, // it would be asked elsewhere whether the OpenAPI is valid
});
